import { batch, type ReadonlySignal, signal } from '@preact/signals'
import type { VideoConfig } from '../../../../lib/video-records.ts'
import type { Choice } from '../screens/ways.ts'
import { createSound, type Sound } from '../sound/sound.ts'
import { createFrameKlv } from './frame-klv.ts'
import { play } from './play.ts'
import { createSurfaces } from './surfaces.ts'

/** Facts about the picture while it is shown. */
export interface PictureFacts {
  readonly choice?: Choice | undefined
  readonly config?: VideoConfig | undefined
  /** From the data of a frame to its picture, milliseconds; smoothed. */
  readonly delayMs?: number | undefined
}

/** The live picture of a pipeline. It plays also before it is in the page. */
export interface Playback {
  readonly id: string
  readonly with: With
  /** Shows the picture, in the page. */
  readonly element: HTMLElement
  readonly facts: ReadonlySignal<PictureFacts>
  readonly hasPicture: ReadonlySignal<boolean>
  /** undefined where the pipeline has none. */
  readonly sound: Sound | undefined
  /** The newest KLV packet of the frames that were shown; undefined before the first. */
  readonly klv: ReadonlySignal<Uint8Array | undefined>
  /** Why there is no new picture. */
  readonly fault: ReadonlySignal<string | undefined>
  readonly end: () => void
}

const FACTS_MS = 500
const SMOOTHING = 0.1
const SOURCE_AWAY = 'The source is away. The picture comes back by itself.'
/** How long a playback that began before the page waits for it, milliseconds. */
const AHEAD_MS = 5000

/** What a picture comes with. */
export interface With {
  readonly hasSound: boolean
  readonly hasKlv: boolean
}

const startPlayback = (id: string, { hasSound, hasKlv }: With): Playback => {
  const sound = hasSound ? createSound() : undefined
  const frameKlv = createFrameKlv()
  const klv = signal<Uint8Array | undefined>(undefined)
  const facts = signal<PictureFacts>({})
  const hasPicture = signal(false)
  const failure = signal<string | undefined>(undefined)
  const isSourceAway = signal(false)
  const fault = signal<string | undefined>(undefined)
  const { element, surfaces, show } = createSurfaces(id)
  const ended = new AbortController()
  let delayMs: number | undefined
  const update = (more: PictureFacts): void => {
    facts.value = { ...facts.peek(), ...more }
  }
  const updateFault = (): void => {
    fault.value = failure.peek() ?? (isSourceAway.peek() ? SOURCE_AWAY : undefined)
  }
  const timer = setInterval(() => {
    if (facts.peek().delayMs !== delayMs) update({ delayMs })
  }, FACTS_MS)
  void play({
    id,
    surfaces,
    sound,
    onKlv: hasKlv ? frameKlv.take : undefined,
    signal: ended.signal,
    onChoice: (choice) =>
      batch(() => {
        show(choice.way)
        hasPicture.value = false
        update({ choice })
      }),
    onConfig: (config) => {
      // A stream that is opened again begins with the state of its source.
      isSourceAway.value = false
      updateFault()
      update({ config })
    },
    onPicture: (ms, timestamp) => {
      if (timestamp !== null) sound?.follow(timestamp)
      // Some browsers do not tell by WebRTC which frame they show.
      const packet = frameKlv.shown(timestamp ?? Number.POSITIVE_INFINITY)
      if (packet !== undefined) klv.value = packet
      if (ms !== null) delayMs = delayMs === undefined ? ms : delayMs + (ms - delayMs) * SMOOTHING
      hasPicture.value = true
    },
    onSource: (isThere) => {
      isSourceAway.value = !isThere
      updateFault()
    },
    onFault: (text) => {
      failure.value = text
      updateFault()
      if (text !== undefined) delayMs = undefined
    },
  })
  const end = (): void => {
    clearInterval(timer)
    ended.abort()
    sound?.close()
  }
  return { id, with: { hasSound, hasKlv }, element, facts, hasPicture, sound, klv, fault, end }
}

const WISHES = ['hasSound', 'hasKlv'] as const

let ahead: Playback | undefined
let isTaken = false

/** Begins to play before the page is drawn, so that both happen at the same time; does nothing when the page was faster. */
export const playAhead = (id: string, wanted: With): void => {
  if (isTaken) return
  const playback = startPlayback(id, wanted)
  ahead = playback
  // The user may have left the page by then.
  setTimeout(() => {
    if (ahead !== playback) return
    ahead = undefined
    playback.end()
  }, AHEAD_MS)
}

/** The playback that began before the page, or a new one. */
export const takePlayback = (id: string, wanted: With): Playback => {
  isTaken = true
  if (ahead?.id !== id || WISHES.some((wish) => ahead?.with[wish] !== wanted[wish])) return startPlayback(id, wanted)
  const playback = ahead
  ahead = undefined
  return playback
}
