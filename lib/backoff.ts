export interface BackoffLimits {
  readonly initial_delay_ms: number
  readonly max_delay_seconds: number
}

/** Doubling delays between attempts, milliseconds: initial_delay_ms, twice that … up to max_delay_seconds. */
export class Backoff {
  #attempts = 0

  next(limits: BackoffLimits): number {
    const delay = limits.initial_delay_ms * 2 ** Math.min(this.#attempts, 30)
    this.#attempts += 1
    return Math.min(delay, limits.max_delay_seconds * 1000)
  }

  reset(): void {
    this.#attempts = 0
  }
}
