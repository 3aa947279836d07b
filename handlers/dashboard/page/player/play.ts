import { pause } from '../../../../lib/pause.ts'
import type { VideoConfig } from '../../../../lib/video-records.ts'
import { ApiError, api, reasonOf, wordsOf } from '../api/api.ts'
import { chunksOf, untilVisible, whenHidden } from '../api/follow.ts'
import { DecoderScreen } from './decoder-screen.ts'
import { createRecordReader, type VideoChunk } from './records.ts'
import type { Screen, ScreenEvents } from './screen.ts'
import { type Choice, chooseWay, type Way } from './ways.ts'

interface Surfaces {
  readonly canvas: HTMLCanvasElement
  readonly video: HTMLVideoElement
  readonly image: HTMLImageElement
}

interface PlayEvents {
  readonly onChoice: (choice: Choice) => void
  readonly onConfig: (config: VideoConfig) => void
  /** As of a screen. */
  readonly onPicture: (delayMs: number | null) => void
  readonly onSource: (isThere: boolean) => void
  /** Why there is no new picture; undefined when there is one again. */
  readonly onFault: (text: string | undefined) => void
}

export interface PlayOptions extends PlayEvents {
  readonly id: string
  readonly surfaces: Surfaces
  readonly signal: AbortSignal
}

const FIRST_DELAY_MS = 300
const MAX_DELAY_MS = 3000
const PICTURE_MS = 1000
/** Without a frame for longer the connection counts as lost: a network may drop it without notice. */
const SILENCE_MS = 12_000
/** The same while the source is away, which the service repeats every 30 s, and until an on-demand pipeline has started. */
const WAITING_MS = 75_000

/** Ways that have failed, and why. */
type Excluded = Map<Way, string>

/** Plays the video of a pipeline until the signal aborts, over losses of source and service, in the best way that works. */
export const play = async (options: PlayOptions): Promise<void> => {
  const excluded: Excluded = new Map()
  const { signal } = options
  let delay = FIRST_DELAY_MS
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    await untilVisible(signal)
    try {
      if (!isFirst) await refuseStopped(options)
      await playOnce(options, excluded, () => {
        delay = FIRST_DELAY_MS
      })
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof PicturesOnly) {
        options.onChoice({ way: 'pictures', why: error.message })
        await showPictures(options)
        return
      }
      options.onFault(faultText(error))
    }
    await pause(document.hidden ? 0 : delay, signal)
    delay = Math.min(delay * 2, MAX_DELAY_MS)
  }
}

/** The pipeline has been stopped. */
class NotPlaying extends Error {}

/** The stream itself cannot be shown here. */
class PicturesOnly extends Error {}

/** Nothing has come for too long. */
class Silent extends Error {}

const STOPPED = 'The pipeline does not play.'

const faultText = (error: unknown): string => {
  if (error instanceof NotPlaying) return STOPPED
  if (error instanceof Silent) return 'No new picture comes. Trying again…'
  if (!(error instanceof ApiError)) return 'No connection to the service. Trying again…'
  if (reasonOf(error) === 'not_playing') return STOPPED
  if (reasonOf(error) === 'no_pay0') return 'This pipeline has no video output: its description names no element pay0.'
  return error.message
}

/** Reading the video of an on-demand pipeline starts it: one that has been stopped in the meantime must stay stopped. */
const refuseStopped = async ({ id, signal }: PlayOptions): Promise<void> => {
  const { state, runtime } = await api.getPipeline({ id, signal })
  if (state === 'ready' && runtime.phase !== 'starting') throw new NotPlaying()
}

const playOnce = async (options: PlayOptions, excluded: Excluded, onData: () => void): Promise<void> => {
  const { id, signal } = options
  const attempt = new AbortController()
  const end = (): void => attempt.abort()
  signal.addEventListener('abort', end)
  const stopWatching = whenHidden(end)
  const stage = createStage(options, excluded, end)
  let isThere = true
  let timer: ReturnType<typeof setTimeout> | undefined
  const listen = (ms: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => attempt.abort(new Silent()), ms)
  }
  try {
    listen(WAITING_MS)
    const response = await openVideo(id, attempt.signal)
    const read = createRecordReader({
      onConfig: stage.configure,
      onChunk: stage.show,
      onSource: (type) => {
        isThere = type === 'source_back'
        options.onSource(isThere)
      },
    })
    for await (const piece of chunksOf(response)) {
      onData()
      read(piece)
      listen(isThere ? SILENCE_MS : WAITING_MS)
    }
  } catch (error) {
    // A way that failed, or a hidden tab, ends the attempt and not the play.
    if (!attempt.signal.aborted) throw error
    if (attempt.signal.reason instanceof Silent) throw attempt.signal.reason
  } finally {
    clearTimeout(timer)
    stopWatching()
    signal.removeEventListener('abort', end)
    attempt.abort()
    stage.close()
  }
  stage.throwIfPicturesOnly()
}

const openVideo = async (id: string, signal: AbortSignal): Promise<Response> => {
  try {
    return await api.getVideo({ id, signal })
  } catch (error) {
    if (reasonOf(error) === 'codec') throw new PicturesOnly('the video is neither H.264 nor H.265')
    throw error
  }
}

/** Shows configurations and chunks on the screen of the chosen way. */
const createStage = (options: PlayOptions, excluded: Excluded, end: () => void) => {
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
  const choice = await chooseWay(config)
  const failure = excluded.get(choice.way)
  if (failure === undefined) return choice
  const next: Way =
    choice.way === 'decoder' && config.codec.startsWith('avc1') && !excluded.has('media-source') ? 'media-source' : 'pictures'
  return { way: next, why: failure }
}

const createScreen = async ({ surfaces, ...events }: PlayOptions, way: Way, onFailure: (why: string) => void): Promise<Screen> => {
  const screenEvents: ScreenEvents = {
    onFailure,
    onPicture: (delayMs) => {
      events.onFault(undefined)
      events.onPicture(delayMs)
    },
  }
  if (way === 'decoder') return new DecoderScreen(surfaces.canvas, screenEvents)
  const { createMediaSourceScreen } = await import('./media-source-screen.ts')
  return await createMediaSourceScreen(surfaces.video, screenEvents)
}

/** Shows a new picture each second. */
const showPictures = async ({ id, surfaces: { image }, signal, onPicture, onFault }: PlayOptions): Promise<void> => {
  while (!signal.aborted) {
    await untilVisible(signal)
    const began = performance.now()
    try {
      const answer = await api.getSnapshot({ id, signal })
      const url = URL.createObjectURL(await answer.blob())
      image.src = url
      await image.decode()
      URL.revokeObjectURL(url)
      onFault(undefined)
      onPicture(Number(answer.headers.get('x-age-ms')) + performance.now() - began)
    } catch (error) {
      if (!signal.aborted) onFault(faultText(error))
    }
    await pause(Math.max(0, PICTURE_MS - (performance.now() - began)), signal)
  }
}
