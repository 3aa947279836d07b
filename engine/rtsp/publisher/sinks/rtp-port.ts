import type { Datagrams } from '../../../rtp/access-unit.ts'

/** Where the media of a UDP reader goes: a local UDP port that is connected to the reader's. */
export interface RtpPort {
  readonly port: number
  /** Monotonic milliseconds since when the reader's port has been closed (ICMP says so); undefined while it is open. */
  readonly refusedSinceMs: number | undefined
  /** Hands datagrams to the kernel, from number `from` on and at most `limit`; returns how many. 0: none fits now. */
  send(datagrams: Datagrams, from: number, limit: number): number
  close(): void
}

export interface PortAddresses {
  readonly localAddress: string
  readonly remoteAddress: string
  readonly remotePort: number
}

/** A refusal counts for this long: the kernel reports one with every other packet at most. */
const MEMORY_MS = 1000

/** Remembers that the reader's port is closed. */
export class Refusals {
  #sinceMs = 0
  #latestMs = Number.NEGATIVE_INFINITY

  add(nowMs = performance.now()): void {
    if (this.sinceMs(nowMs) === undefined) this.#sinceMs = nowMs
    this.#latestMs = nowMs
  }

  sinceMs(nowMs = performance.now()): number | undefined {
    return nowMs - this.#latestMs < MEMORY_MS ? this.#sinceMs : undefined
  }
}
