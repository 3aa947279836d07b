import { availableParallelism } from 'node:os'
import { ApiError } from '../../../lib/errors.ts'

/** Decodings of all pipelines that may wait. */
const MAX_WAITING = 256

/** The slots of a host: one decoder per two processors, so that screenshots never slow down the streams. */
export const createDecodeSlots = (): DecodeSlots =>
  new DecodeSlots({ running: Math.max(1, Math.floor(availableParallelism() / 2)), waiting: MAX_WAITING })

/** Limits how many jobs run at once, and how many wait. */
export class DecodeSlots {
  readonly #limits: { readonly running: number; readonly waiting: number }
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limits: { readonly running: number; readonly waiting: number }) {
    this.#limits = limits
  }

  /** Runs the job when a slot is free. SERVICE_UNAVAILABLE when too many jobs wait already. */
  async run<T>(job: () => Promise<T>): Promise<T> {
    await this.#enter()
    try {
      return await job()
    } finally {
      this.#leave()
    }
  }

  async #enter(): Promise<void> {
    if (this.#running < this.#limits.running) {
      this.#running += 1
      return
    }
    if (this.#waiting.length >= this.#limits.waiting) {
      throw new ApiError('SERVICE_UNAVAILABLE', 'Too many screenshots are being decoded. Try again in a moment.', { reason: 'busy' })
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Hands the slot to the next job without freeing it in between. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running -= 1
    else next()
  }
}
