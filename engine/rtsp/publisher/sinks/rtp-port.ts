import type { Datagrams } from '../../../rtp/access-unit.ts'

/** A local UDP port that is connected to the port of a reader. */
export interface RtpPort {
  readonly port: number
  /** Monotonic milliseconds since when the reader's port has been closed (ICMP says so); undefined while it is open. */
  readonly refusedSinceMs: number | undefined
  /** Sends datagrams from number `from` on, at most `limit`; returns how many. 0: the buffer of the kernel is full. */
  send(datagrams: Datagrams, from: number, limit: number): number
  close(): void
}

export interface PortAddresses {
  readonly localAddress: string
  readonly remoteAddress: string
  readonly remotePort: number
}

/** A refusal is valid for this long: the kernel reports at most one for every two packets. */
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
