export interface BackoffLimits {
  readonly initial_delay_ms: number
  readonly max_delay_seconds: number
}

/** Evenly distributed, from 0 up to but not 1. */
export type Random = () => number

/** The part of a delay that chance may take away. */
const SPREAD = 0.25

/**
 * Doubling delays between attempts, milliseconds: initial_delay_ms, twice that … up to max_delay_seconds.
 * Each but the first is up to a quarter shorter at random: what was lost together is not tried together for ever.
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
