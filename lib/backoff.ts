export interface BackoffLimits {
  readonly initial_delay_ms: number
  readonly max_delay_seconds: number
}

/** Evenly distributed, from 0 up to but not 1. */
export type Random = () => number

/** Largest part that is taken off a delay at random. */
const SPREAD = 0.25

/**
 * Doubling delays between attempts, milliseconds: initial_delay_ms, twice that … up to max_delay_seconds.
 * Each but the first is up to a quarter shorter at random, so that what failed together is not retried together.
 */
export class Backoff {
  readonly #random: Random
  #attempts = 0

  constructor(random: Random = Math.random) {
    this.#random = random
  }

  next(limits: BackoffLimits): number {
    const delay = Math.min(limits.initial_delay_ms * 2 ** Math.min(this.#attempts, 30), limits.max_delay_seconds * 1000)
    const isFirst = this.#attempts === 0
    this.#attempts += 1
    return isFirst ? delay : Math.round(delay * (1 - SPREAD * this.#random()))
  }

  reset(): void {
    this.#attempts = 0
  }
}
