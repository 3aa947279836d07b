import { Allowance } from '../../lib/access/allowance.ts'
import { sourceFlood } from '../faults/network-faults.ts'
import type { RtpStream } from '../rtp/stream.ts'

/** Pictures and packets of KLV: far more than any camera sends, and few enough to delay other sources by at most 20 ms. */
const UNITS = { perSecond: 1000, burst: 300 } as const

/** Bounds the load by one source: each access unit costs work for every reader, however small it is. */
export class FloodGuard {
  readonly #allowance = new Allowance(UNITS, performance.now())
  readonly #unsubscribe: readonly (() => void)[]
  #exceeded = false

  constructor(streams: readonly RtpStream[]) {
    const count = ({ arrivedMs }: { readonly arrivedMs: number }): void => {
      this.#exceeded ||= !this.#allowance.use(1, arrivedMs)
    }
    this.#unsubscribe = streams.map((stream) => stream.onUnit(count))
  }

  /** Call after each packet or read. Throws Fault source_flood. */
  check(): void {
    if (this.#exceeded) throw sourceFlood()
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }
}
