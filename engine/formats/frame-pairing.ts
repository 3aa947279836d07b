/** A frame or a packet with its time on the timeline of the pipeline, monotonic milliseconds. */
interface Timed {
  readonly mediaMs: number
}

/** Frames that are remembered: two seconds of 30 a second. */
const FRAMES = 64
/** When this many frames after a packet have come, its own has none: B-frames come up to three frames late. */
const FRAMES_AFTER = 4
/** Times of KLV and video that are the same in the source differ by less after clocks were measured, milliseconds. */
const TOLERANCE_MS = 1

/** Finds the frame that a KLV packet belongs to: the nearest. */
export class FramePairing<Frame extends Timed> {
  /** As they came. */
  readonly #frames: Frame[] = []

  add(frame: Frame): void {
    this.#frames.push(frame)
    if (this.#frames.length > FRAMES) this.#frames.shift()
  }

  /** Undefined while the frame of a packet may be still to come. Where frames are missing it is the one before. */
  frameAt(mediaMs: number): Frame | undefined {
    const nearest = this.#nearest(mediaMs)
    if (nearest === undefined) return undefined
    if (Math.abs(nearest.mediaMs - mediaMs) <= Math.max(TOLERANCE_MS, this.#intervalMs / 2)) return nearest
    const after = this.#frames.filter((frame) => frame.mediaMs > mediaMs)
    return after.length < FRAMES_AFTER ? undefined : this.lastAt(mediaMs)
  }

  /** The last frame at or before a time, else the first after it; undefined before the first frame. */
  lastAt(mediaMs: number): Frame | undefined {
    const before = this.#frames.filter((frame) => frame.mediaMs <= mediaMs)
    if (before.length === 0) return this.#nearest(mediaMs)
    return before.reduce((last, frame) => (frame.mediaMs > last.mediaMs ? frame : last))
  }

  #nearest(mediaMs: number): Frame | undefined {
    let nearest: Frame | undefined
    let least = Number.POSITIVE_INFINITY
    for (const frame of this.#frames) {
      const distance = Math.abs(frame.mediaMs - mediaMs)
      if (distance < least) nearest = frame
      least = Math.min(least, distance)
    }
    return nearest
  }

  /** The usual time between two frames, sorted by their times: of B-frames some are still to come. */
  get #intervalMs(): number {
    const times = this.#frames.map(({ mediaMs }) => mediaMs).sort((one, other) => one - other)
    const steps = times.slice(1).map((time, at) => time - (times[at] ?? time))
    return steps.sort((one, other) => one - other)[Math.floor((steps.length - 1) / 3)] ?? 0
  }
}
