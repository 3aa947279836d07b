/** How far media time may be behind what it was before an earlier clock reading is forgotten, milliseconds. */
const SKEW_WINDOW_MS = 30_000
/** Least step of the media time from one run to the next, milliseconds. */
const RUN_STEP_MS = 10

/**
 * Smallest lateness (arrival minus media time) of the last 30 to 60 s: the constant part of the delay, without
 * its jitter, following the drift between two clocks.
 */
export class Skew {
  #current = Number.POSITIVE_INFINITY
  #previous = Number.POSITIVE_INFINITY
  #windowStartMs = 0

  observe(latenessMs: number, nowMs: number): void {
    if (nowMs - this.#windowStartMs > SKEW_WINDOW_MS) {
      this.#previous = this.#current
      this.#current = Number.POSITIVE_INFINITY
      this.#windowStartMs = nowMs
    }
    this.#current = Math.min(this.#current, latenessMs)
  }

  /** Milliseconds; 0 before the first observation. */
  get value(): number {
    const value = Math.min(this.#current, this.#previous)
    return Number.isFinite(value) ? value : 0
  }

  reset(): void {
    this.#current = Number.POSITIVE_INFINITY
    this.#previous = Number.POSITIVE_INFINITY
  }
}

/**
 * What the streams of one pipeline share: where the running time 0 of the present child lies on the monotonic
 * clock. Streams whose payloader says its timestamp offset get comparable timestamps, exact to the tick.
 */
export class Timeline {
  readonly startMs: number
  readonly skew = new Skew()
  #anchorMs = 0
  #anchoredAtMs = Number.NEGATIVE_INFINITY
  #latestMs = Number.NEGATIVE_INFINITY

  constructor(nowMs: number = performance.now()) {
    this.startMs = nowMs
  }

  /** Media time of running time 0 for a run that began at `begunMs`; the first unit of any stream of the run settles it. */
  anchor(begunMs: number, runningMs: number, arrivedMs: number): number {
    if (this.#anchoredAtMs < begunMs) {
      this.#anchorMs = Math.max(arrivedMs, this.#latestMs + RUN_STEP_MS) - runningMs
      this.#anchoredAtMs = arrivedMs
      this.skew.reset()
    }
    return this.#anchorMs
  }

  /** Remembers the furthest media time given out, so that the next run begins behind it. */
  passed(mediaMs: number): void {
    if (mediaMs > this.#latestMs) this.#latestMs = mediaMs
  }
}
