import { batch, type ReadonlySignal, signal } from '@preact/signals'
import type { VideoConfig } from '../../../../lib/video-records.ts'
import { play } from './play.ts'
import type { Choice } from './ways.ts'

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
  /** Shows the picture, in the page. */
  readonly element: HTMLElement
  readonly facts: ReadonlySignal<PictureFacts>
  readonly hasPicture: ReadonlySignal<boolean>
  /** Why there is no new picture. */
  readonly fault: ReadonlySignal<string | undefined>
  readonly end: () => void
}

const FACTS_MS = 500
const SMOOTHING = 0.1
const SOURCE_AWAY = 'The source is away. The picture comes back by itself.'
/** How long a playback that began before the page waits for it, milliseconds. */
const AHEAD_MS = 5000

const startPlayback = (id: string): Playback => {
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
    onPicture: (ms) => {
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
  }
  return { id, element, facts, hasPicture, fault, end }
}

/** One element for each way to show a picture; the one in use is visible. */
const createSurfaces = (id: string) => {
  const name = `Live picture of ${id}`
  const element = document.createElement('div')
  const canvas = document.createElement('canvas')
  const video = Object.assign(document.createElement('video'), { muted: true, playsInline: true })
  const image = Object.assign(new Image(), { alt: `Latest view of ${id}` })
  canvas.setAttribute('role', 'img')
  for (const surface of [canvas, video]) surface.setAttribute('aria-label', name)
  const ways = { decoder: canvas, 'media-source': video, pictures: image }
  const show = (way: keyof typeof ways | undefined): void => {
    for (const [of, surface] of Object.entries(ways)) surface.hidden = of !== way
  }
  show(undefined)
  element.className = 'live-surfaces'
  element.append(canvas, video, image)
  return { element, surfaces: { canvas, video, image }, show }
}

let ahead: Playback | undefined
let isTaken = false

/** Begins to play before the page is drawn, so that both happen at the same time; does nothing when the page was faster. */
export const playAhead = (id: string): void => {
  if (isTaken) return
  const playback = startPlayback(id)
  ahead = playback
  // The user may have left the page by then.
  setTimeout(() => {
    if (ahead !== playback) return
    ahead = undefined
    playback.end()
  }, AHEAD_MS)
}

/** The playback that began before the page, or a new one. */
export const takePlayback = (id: string): Playback => {
  isTaken = true
  if (ahead?.id !== id) return startPlayback(id)
  const playback = ahead
  ahead = undefined
  return playback
}
