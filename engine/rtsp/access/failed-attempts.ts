import { clientOf } from '../../../lib/access/client-of.ts'

const WINDOW_MS = 60_000
/** Addresses remembered; the one that failed least recently is dropped first. */
const MAX_CLIENTS = 10_000

/** Wrong credentials per address (an IPv4 address or an IPv6 /64) in the last minute. */
export class FailedAttempts {
  readonly #most: number
  readonly #maxClients: number
  readonly #times = new Map<string, number[]>()

  constructor(mostPerMinute: number, maxClients = MAX_CLIENTS) {
    this.#most = mostPerMinute
    this.#maxClients = maxClients
  }

  /** Milliseconds until the address may try again; 0 when it may. */
  waitMs(address: string, nowMs: number): number {
    const recent = this.#recent(clientOf(address), nowMs)
    const oldest = recent[recent.length - this.#most]
    return oldest === undefined ? 0 : oldest + WINDOW_MS - nowMs
  }

  /** Counts a failure. */
  add(address: string, nowMs: number): void {
    const client = clientOf(address)
    const recent = [...this.#recent(client, nowMs), nowMs]
    // A Map keeps the order of insertion: the address that failed last moves to the end.
    this.#times.delete(client)
    this.#times.set(client, recent)
    if (this.#times.size > this.#maxClients) this.#times.delete(this.#times.keys().next().value ?? client)
  }

  #recent(client: string, nowMs: number): readonly number[] {
    return (this.#times.get(client) ?? []).filter((time) => nowMs - time < WINDOW_MS)
  }
}
