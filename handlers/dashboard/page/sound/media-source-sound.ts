/** Frames that wait for the browser; more mean that it takes none. */
const MAX_WAITING = 512
/** Sound of a moment this far from the picture is sought, a smaller difference is mended by a change of speed; seconds. */
const MAX_ERROR = 0.15
const MAX_SPEED_CHANGE = 0.05
/** What is older is removed, seconds. */
const KEPT = 10
/** A frame that comes this much later than the end of the one before leaves a gap, seconds. */
const GAP = 0.1

/** What the name of a codec of WebCodecs begins with → byte stream of Media Source. */
const TYPES = [
  ['mp4a.40.', 'audio/aac'],
  ['mp3', 'audio/mpeg'],
] as const

/** Sound beside pictures that Media Source shows. */
export interface MediaSourceSound {
  readonly element: HTMLAudioElement
  /** `timestamp`: µs */
  readonly play: (timestamp: number, data: Uint8Array<ArrayBuffer>) => void
  /** The picture of this moment is shown, µs: its sound is to be heard now. */
  readonly follow: (timestamp: number) => void
  /** The peak now, 0 to 1; 0 before `measure`. */
  readonly level: () => number
  /** Begins to measure; after an action of the user. */
  readonly measure: () => void
  readonly close: () => void
}

/** The type of Media Source for a codec of WebCodecs; undefined where this browser has none. */
export const soundTypeOf = (codec: string): string | undefined => {
  const type = TYPES.find(([beginning]) => codec.startsWith(beginning))?.[1]
  return type !== undefined && typeof MediaSource !== 'undefined' && MediaSource.isTypeSupported(type) ? type : undefined
}

/** In an element of its own: sound that stops must not stop the pictures. `onFailure`: the browser refuses it. */
export const createMediaSourceSound = (type: string, onFailure: () => void): MediaSourceSound => {
  const element = new Audio()
  const source = new MediaSource()
  const url = URL.createObjectURL(source)
  Object.assign(element, { muted: true, src: url })
  element.onerror = onFailure
  let buffer: SourceBuffer | undefined
  let waiting: { readonly at: number; readonly data: Uint8Array<ArrayBuffer> }[] = []
  /** Time of the stream at time 0 of the element, and at the end of what was appended; seconds. */
  let [begin, end]: [number | undefined, number] = [undefined, 0]
  let meter: { readonly context: AudioContext; readonly analyser: AnalyserNode } | undefined
  const samples = new Float32Array(2048)

  const append = (): void => {
    const [first] = waiting
    if (buffer === undefined || buffer.updating || first === undefined || source.readyState !== 'open') return
    begin ??= first.at
    const isGap = Math.abs(first.at - end) > GAP && end !== 0
    if (isGap) buffer.timestampOffset = first.at - begin
    // Up to the next gap; frames last less than it.
    const stop = waiting.findIndex(({ at }, index) => index > 0 && Math.abs(at - (waiting[index - 1]?.at ?? at)) > GAP)
    const frames = waiting.splice(0, stop === -1 ? waiting.length : stop)
    end = frames.at(-1)?.at ?? end
    buffer.appendBuffer(joined(frames.map(({ data }) => data)))
  }
  const trim = (): void => {
    const oldest = buffer?.buffered.length ? buffer.buffered.start(0) : element.currentTime
    if (buffer !== undefined && !buffer.updating && element.currentTime - oldest > 2 * KEPT)
      buffer.remove(oldest, element.currentTime - KEPT)
    else append()
  }
  source.onsourceopen = () => {
    URL.revokeObjectURL(url)
    buffer = source.addSourceBuffer(type)
    buffer.mode = 'sequence'
    buffer.onupdateend = trim
    append()
  }
  return {
    element,
    play: (timestamp, data) => {
      if (waiting.length >= MAX_WAITING) waiting = []
      waiting.push({ at: timestamp / 1e6, data })
      try {
        append()
      } catch {
        onFailure()
      }
    },
    follow: (timestamp) => {
      if (begin === undefined || element.buffered.length === 0) return
      const due = timestamp / 1e6 - begin
      const error = element.currentTime - due
      const isBuffered = due >= element.buffered.start(0) && due < element.buffered.end(element.buffered.length - 1)
      if (Math.abs(error) > MAX_ERROR && isBuffered) element.currentTime = due
      else element.playbackRate = 1 - Math.max(-MAX_SPEED_CHANGE, Math.min(MAX_SPEED_CHANGE, error))
      // A page may play sound that is muted; when the browser refuses, the pictures go on alone.
      if (element.paused && isBuffered) element.play().catch(() => {})
    },
    level: () => {
      meter?.analyser.getFloatTimeDomainData(samples)
      return meter === undefined ? 0 : Math.min(1, Math.max(...samples.map(Math.abs)))
    },
    measure: () => {
      if (meter !== undefined) return
      const context = new AudioContext()
      const analyser = context.createAnalyser()
      context.createMediaElementSource(element).connect(analyser).connect(context.destination)
      meter = { context, analyser }
    },
    close: () => {
      element.onerror = null
      element.pause()
      element.removeAttribute('src')
      element.load()
      void meter?.context.close()
    },
  }
}

const joined = (pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}
