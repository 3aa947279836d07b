interface BackoffDelays {
  readonly initial_delay_ms: number
  readonly max_delay_seconds: number
}

/** Doubling delays between attempts, milliseconds: initial_delay_ms, twice that … up to max_delay_seconds. */
export class Backoff {
  #attempts = 0

  next(delays: BackoffDelays): number {
    const delay = delays.initial_delay_ms * 2 ** Math.min(this.#attempts, 30)
    this.#attempts += 1
    return Math.min(delay, delays.max_delay_seconds * 1000)
  }

  reset(): void {
    this.#attempts = 0
  }
}
