import type { VideoConfig } from '../../../../lib/video-records.ts'
import { wordsOf } from '../api/api.ts'
import { DecoderScreen } from '../screens/decoder-screen.ts'
import type { VideoChunk } from '../screens/records.ts'
import type { Screen, ScreenEvents } from '../screens/screen.ts'
import { type Choice, chooseWay, type Way } from '../screens/ways.ts'

/** One element for each way. */
interface Surfaces {
  readonly canvas: HTMLCanvasElement
  readonly video: HTMLVideoElement
  readonly image: HTMLImageElement
}

export interface StageOptions {
  readonly surfaces: Surfaces
  /** Of a picture that is shown smaller, pixels. */
  readonly maxWidth?: number
  readonly onChoice: (choice: Choice) => void
  readonly onConfig: (config: VideoConfig) => void
  /** As of a screen. */
  readonly onPicture: ScreenEvents['onPicture']
  /** Why there is no new picture; undefined when there is one again. */
  readonly onFault: (text: string | undefined) => void
}

/** Ways that have failed, and why. */
export type Excluded = Map<Way, string>

/** The stream itself cannot be shown here. */
export class PicturesOnly extends Error {}

/** Shows configurations and chunks on the screen of the chosen way. */
export const createStage = (options: StageOptions, excluded: Excluded, end: () => void) => {
  let screen: Screen | undefined
  let way: Way | undefined
  let picturesOnly: string | undefined
  let closed = false
  /** Chunks wait for the choice; they are bounded by what one response brings. */
  let work: Promise<void> = Promise.resolve()

  const configure = async (config: VideoConfig): Promise<void> => {
    options.onConfig(config)
    const choice = await chooseExcept(config, excluded)
    if (closed) return
    if (choice.way === 'pictures') {
      picturesOnly = choice.why
      end()
      return
    }
    if (choice.way !== way) {
      screen?.close()
      way = choice.way
      options.onChoice(choice)
      const giveUp = (why: string): void => {
        excluded.set(choice.way, why)
        end()
      }
      screen = await createScreen(options, choice.way, giveUp).catch((error: unknown) => giveUp(wordsOf(error)) as undefined)
      if (closed) screen?.close()
    }
    screen?.configure(config)
  }

  const inTurn = (step: () => void | Promise<void>): void => {
    work = work.then(() => (closed ? undefined : step()))
  }

  return {
    configure: (config: VideoConfig) => inTurn(() => configure(config)),
    show: (chunk: VideoChunk) => inTurn(() => screen?.show(chunk)),
    close: () => {
      closed = true
      screen?.close()
    },
    throwIfPicturesOnly: () => {
      if (picturesOnly !== undefined) throw new PicturesOnly(picturesOnly)
    },
  }
}

const chooseExcept = async (config: VideoConfig, excluded: Excluded): Promise<Choice> => {
  const best = await chooseWay(config)
  const whyNoWebRtc = excluded.get('webrtc')
  const choice = whyNoWebRtc === undefined ? best : { ...best, why: `${best.why}, and ${whyNoWebRtc}` }
  const failure = excluded.get(choice.way)
  if (failure === undefined) return choice
  const next: Way =
    choice.way === 'decoder' && config.codec.startsWith('avc1') && !excluded.has('media-source') ? 'media-source' : 'pictures'
  return { way: next, why: failure }
}

const createScreen = async (
  { surfaces, maxWidth, ...events }: StageOptions,
  way: Way,
  onFailure: (why: string) => void,
): Promise<Screen> => {
  const screenEvents: ScreenEvents = {
    onFailure,
    onPicture: (delayMs, timestamp) => {
      events.onFault(undefined)
      events.onPicture(delayMs, timestamp)
    },
  }
  if (way === 'decoder') return new DecoderScreen(surfaces.canvas, screenEvents, maxWidth)
  const { createMediaSourceScreen } = await import('../screens/media-source-screen.ts')
  return await createMediaSourceScreen(surfaces.video, screenEvents)
}
