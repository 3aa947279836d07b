import { Allowance } from '../../lib/access/allowance.ts'
import { sourceFlood } from '../faults/network-faults.ts'
import type { RtpStream } from '../rtp/stream.ts'

/** Pictures and packets of KLV: far more than any camera sends, and few enough to delay other sources by at most 20 ms. */
const UNITS = { perSecond: 1000, burst: 300 } as const
/** Packets of sound are small, and up to 1000 a second (AES67). */
const SOUND_WEIGHT = 0.25
/** A picture of more packets or bytes counts as several: 500 Mbit/s in packets of 1,250 bytes. */
const PACKETS_OF_UNIT = 50
const BYTES_OF_UNIT = 62_500

/** Bounds the load by one source: each access unit costs work for every reader, however small it is, and so do caps that change. */
export class FloodGuard {
  readonly #allowance = new Allowance(UNITS, performance.now())
  readonly #unsubscribe: readonly (() => void)[]
  #exceeded = false

  constructor(streams: readonly RtpStream[]) {
    this.#unsubscribe = streams.flatMap((stream) => {
      const least = stream.follows ? SOUND_WEIGHT : 1
      return [
        stream.onUnit(({ arrivedMs, packetCount, bytes }) =>
          this.#use(Math.max(least, packetCount / PACKETS_OF_UNIT, bytes / BYTES_OF_UNIT), arrivedMs),
        ),
        stream.onCaps(() => this.#use(1, performance.now())),
      ]
    })
  }

  #use(weight: number, nowMs: number): void {
    this.#exceeded ||= !this.#allowance.use(weight, nowMs)
  }

  /** Call after each packet or read. Throws Fault source_flood. */
  check(): void {
    if (this.#exceeded) throw sourceFlood()
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }
}
