import { Skew } from './skew.ts'

/** Least step of the media time from one run to the next, milliseconds. */
const RUN_STEP_MS = 10
/** The first units of the streams of a run are this far apart at most: none of them begins before what it had sent. */
const SPREAD_MS = 200

/**
 * Shared by the streams of one pipeline: where running time 0 of the present child lies on the monotonic clock.
 * Streams whose payloader states its timestamp offset get comparable timestamps, exact to the tick.
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

  /** Media time of running time 0 for a run that began at `begunMs`; the first unit of any stream of the run decides it. */
  anchor(begunMs: number, runningMs: number, arrivedMs: number): number {
    if (this.#anchoredAtMs < begunMs) {
      const spreadMs = Math.max(0, Math.min(runningMs, SPREAD_MS))
      this.#anchorMs = Math.max(arrivedMs, this.#latestMs + RUN_STEP_MS + spreadMs) - runningMs
      this.#anchoredAtMs = arrivedMs
      this.skew.reset()
    }
    return this.#anchorMs
  }

  /** Remembers the latest media time, so that the next run begins after it. */
  advanceTo(mediaMs: number): void {
    if (mediaMs > this.#latestMs) this.#latestMs = mediaMs
  }
}
