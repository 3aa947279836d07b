import { boundOf } from './client-of.ts'

/** Sustained use per second, and use at once after a pause. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** What is left of a rate (token bucket). Times are monotonic milliseconds. */
export class Allowance {
  readonly #rate: Rate
  #left: number
  #atMs: number

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate
    this.#left = rate.burst
    this.#atMs = nowMs
  }

  /** Uses an amount; false when it was not left. The debt is at most one burst. */
  use(amount: number, nowMs: number): boolean {
    const { perSecond, burst } = this.#rate
    const left = Math.min(burst, this.#left + ((nowMs - this.#atMs) / 1000) * perSecond)
    this.#atMs = nowMs
    this.#left = Math.max(-burst, left - amount)
    return this.#left >= 0
  }
}

/** Most clients remembered; beyond it the oldest is dropped. */
const MAX_CLIENTS = 10_000

/** An allowance for each client, as `clientOf` names it; larger for this host, as all bounds. */
export class ClientAllowances {
  readonly #rate: Rate
  readonly #maxClients: number
  readonly #clients = new Map<string, Allowance>()

  constructor(rate: Rate, maxClients = MAX_CLIENTS) {
    this.#rate = rate
    this.#maxClients = maxClients
  }

  /** As `Allowance.use`. */
  use(client: string, amount: number, nowMs: number): boolean {
    return this.#of(client, nowMs).use(amount, nowMs)
  }

  #of(client: string, nowMs: number): Allowance {
    const known = this.#clients.get(client)
    if (known !== undefined) return known
    const { perSecond, burst } = this.#rate
    const allowance = new Allowance({ perSecond: boundOf(client, perSecond), burst: boundOf(client, burst) }, nowMs)
    this.#clients.set(client, allowance)
    if (this.#clients.size > this.#maxClients) this.#clients.delete(this.#clients.keys().next().value ?? client)
    return allowance
  }
}
