import { availableParallelism } from 'node:os'
import { ApiError } from '../../../lib/errors.ts'

/** Pictures of all pipelines that wait. */
const MAX_WAITING = 256

/** The slots of a host. One decoder for every two processors: pictures never take the machine from the streams. */
export const createDecodeSlots = (): DecodeSlots =>
  new DecodeSlots({ running: Math.max(1, Math.floor(availableParallelism() / 2)), waiting: MAX_WAITING })

/** A bounded number of works at a time, and of those that wait for their turn. */
export class DecodeSlots {
  readonly #limits: { readonly running: number; readonly waiting: number }
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limits: { readonly running: number; readonly waiting: number }) {
    this.#limits = limits
  }

  /** Runs the work when its turn has come. SERVICE_UNAVAILABLE when too many wait already. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter()
    try {
      return await work()
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
      throw new ApiError('SERVICE_UNAVAILABLE', 'Too many pictures are being made. Try again in a moment.', { reason: 'busy' })
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** The slot goes to the next without becoming free in between. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running -= 1
    else next()
  }
}
