import { sequenceOf } from '../rtp/packet/packet.ts'

/** A larger step of the sequence number is a restart of the source once a second packet confirms it (RFC 3550 appendix A.1). */
const MAX_STEP = 3000
/** Packets held: several times those of 8 Mbit/s during the longest wait. */
const MAX_HELD = 1024

interface ReorderOptions {
  /** How long packets wait for one that is missing, milliseconds. */
  readonly waitMs: number
  /** Called with each packet once, in the order of their sequence numbers. */
  readonly deliver: (packet: Buffer, arrivedMs: number) => void
}

interface Held {
  readonly packet: Buffer
  readonly arrivedMs: number
}

/** Puts the RTP packets of one track that come over UDP in order. Delays nothing while none is missing; drops what comes twice or too late. */
export class ReorderBuffer {
  readonly #options: ReorderOptions
  /** By sequence number, all within MAX_STEP of the next one. */
  readonly #held = new Map<number, Held>()
  #next: number | undefined
  /** The sequence number that would confirm a restart. */
  #restart: number | undefined

  constructor(options: ReorderOptions) {
    this.#options = options
  }

  /** When the oldest wait ends, monotonic milliseconds; undefined while nothing waits. */
  get deadlineMs(): number | undefined {
    let oldest: number | undefined
    for (const { arrivedMs } of this.#held.values()) oldest = Math.min(oldest ?? arrivedMs, arrivedMs)
    return oldest === undefined ? undefined : oldest + this.#options.waitMs
  }

  /** Takes a packet of RTP as it comes. */
  push(packet: Buffer, arrivedMs: number): void {
    const sequence = sequenceOf(packet)
    this.#next ??= sequence
    const ahead = (sequence - this.#next) & 0xffff
    if (ahead > MAX_STEP && 0x10000 - ahead > MAX_STEP) {
      if (!this.#confirmsRestart(sequence)) return
    } else if (ahead >= 0x8000) return
    this.#restart = undefined
    this.#held.set(sequence, { packet, arrivedMs })
    this.#deliverInOrder()
    while (this.#held.size > MAX_HELD) this.#skipGap()
  }

  /** Gives up on packets that were waited for long enough. */
  expire(nowMs: number): void {
    for (let deadline = this.deadlineMs; deadline !== undefined && deadline <= nowMs; deadline = this.deadlineMs) this.#skipGap()
  }

  #confirmsRestart(sequence: number): boolean {
    if (sequence !== this.#restart) {
      this.#restart = (sequence + 1) & 0xffff
      return false
    }
    while (this.#held.size > 0) this.#skipGap()
    this.#next = sequence
    return true
  }

  #deliverInOrder(): void {
    for (let next = this.#next ?? 0; ; next = (next + 1) & 0xffff) {
      this.#next = next
      const held = this.#held.get(next)
      if (held === undefined) return
      this.#held.delete(next)
      this.#options.deliver(held.packet, held.arrivedMs)
    }
  }

  /** The next packet does not come any more. */
  #skipGap(): void {
    const next = this.#next ?? 0
    let nearest = 0x10000
    for (const sequence of this.#held.keys()) nearest = Math.min(nearest, (sequence - next) & 0xffff)
    this.#next = (next + nearest) & 0xffff
    this.#deliverInOrder()
  }
}
