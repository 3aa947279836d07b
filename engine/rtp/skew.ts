/** How long the smallest lateness is remembered, milliseconds: at least one window, at most two. */
const WINDOW_MS = 30_000

/**
 * Smallest lateness (arrival minus media time) of the last 30 to 60 s: the constant part of the delay, without
 * its jitter, following the drift between two clocks.
 */
export class Skew {
  #current = Number.POSITIVE_INFINITY
  #previous = Number.POSITIVE_INFINITY
  #windowStartMs = 0

  observe(latenessMs: number, nowMs: number): void {
    if (nowMs - this.#windowStartMs > WINDOW_MS) {
      // After a suspend the last window is hours old.
      this.#previous = nowMs - this.#windowStartMs > 2 * WINDOW_MS ? Number.POSITIVE_INFINITY : this.#current
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
