import { PaceLimit } from './pace-limit.ts'

/** Bytes that go out at once, and per millisecond from then on: 80 Mbit/s, so that a cached GOP does not overrun the socket of its receiver. */
const BURST_BYTES = 64 * 1024
const BYTES_PER_MS = 10_000
const TICK_MS = 2
const MIN_BURST_BYTES = 1500
/** What is sent is averaged over about this time, milliseconds. */
const AVERAGE_MS = 2000

/** Sends what is pushed in its order, a burst at once and the rest at a pace. */
export class Pacer<Item> {
  readonly #send: (item: Item) => void
  readonly #onEmpty: () => void
  #queue: { readonly item: Item; readonly bytes: number }[] = []
  #head = 0
  #left = BURST_BYTES
  /** Bytes per millisecond. */
  #pace = BYTES_PER_MS
  #offered = 0
  readonly #limit = new PaceLimit(performance.now())
  #atMs = performance.now()
  #timer: NodeJS.Timeout | undefined

  /** `onEmpty` is called when the last of what had to wait is sent. */
  constructor(send: (item: Item) => void, onEmpty: () => void) {
    this.#send = send
    this.#onEmpty = onEmpty
  }

  /** Something waits. */
  get busy(): boolean {
    return this.#head < this.#queue.length
  }

  /** The receiver takes less than is offered. */
  get isLimited(): boolean {
    return this.#pace < BYTES_PER_MS
  }

  push(item: Item, bytes: number): void {
    this.#queue.push({ item, bytes })
    this.#offered += bytes / AVERAGE_MS
  }

  /** The receiver estimates that it can take this much, bytes per millisecond: what is more has to wait, and is dropped before it waits long. */
  limit(estimate: number): void {
    this.#pace = this.#limit.update(estimate, this.#offered, performance.now()) ?? BYTES_PER_MS
  }

  /** A part of the packets was lost, 0 to 1, and a report took so long there and back. */
  observe(lost: number, roundTripMs: number): void {
    this.#limit.observe(lost, roundTripMs, performance.now())
  }

  /** Sends what may go out now. */
  run(): void {
    const nowMs = performance.now()
    const elapsedMs = nowMs - this.#atMs
    const burst = this.isLimited ? Math.max(MIN_BURST_BYTES, this.#pace * TICK_MS) : BURST_BYTES
    this.#left = Math.min(burst, this.#left + elapsedMs * this.#pace)
    this.#offered *= Math.exp(-elapsedMs / AVERAGE_MS)
    this.#atMs = nowMs
    while (this.#left > 0 && this.busy) {
      const next = this.#queue[this.#head++]
      if (next === undefined) break
      this.#left -= next.bytes
      this.#send(next.item)
    }
    if (this.busy) {
      this.#timer ??= setTimeout(() => this.#tick(), TICK_MS)
      return
    }
    this.#queue = []
    this.#head = 0
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#queue = []
    this.#head = 0
  }

  #tick(): void {
    this.#timer = undefined
    this.run()
    if (!this.busy) this.#onEmpty()
  }
}
