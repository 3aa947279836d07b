import { Allowance } from '../../lib/access/allowance.ts'
import { sourceFlood } from '../faults/network-faults.ts'
import { bytesOf, payloadOf } from '../rtp/packet/packet.ts'
import type { ChildPipe } from './child-pipe.ts'
import type { PacketSink } from './track-input.ts'

/** 500 Mbit/s. */
const PACKETS = { perSecond: 50_000, burst: 8000 } as const
const CAPS = 'video/mpegts,systemstream=(boolean)true,packetsize=(int)188'
const TICKS_PER_MS = 90

/** Passes the MPEG-TS in RTP packets (RFC 2250 section 2) to a child, its times those of the arrival. */
export class TransportFeed implements PacketSink {
  readonly holds = false
  readonly #pipe: ChildPipe
  readonly #onTransport: (transport: Buffer, arrival: number) => void
  readonly #allowance = new Allowance(PACKETS, performance.now())
  readonly #beganMs = performance.now()
  #waiting: Buffer[] = []

  /** `onTransport` gets the same bytes, with their arrival in 90 kHz ticks of the same time. */
  constructor(pipe: ChildPipe, onTransport: (transport: Buffer, arrival: number) => void) {
    this.#pipe = pipe
    this.#onTransport = onTransport
  }

  setCaps(): void {}

  noteRead(): void {}

  /** Throws Fault source_flood. */
  ingestPacket(packet: Buffer): void {
    const nowMs = performance.now()
    if (!this.#allowance.use(1, nowMs)) throw sourceFlood()
    const payload = payloadOf(packet)
    if (payload === undefined) return
    // One write for all that was read at once, and a copy since the memory of the read is used again.
    if (this.#waiting.length === 0) setImmediate(() => this.#flush(nowMs - this.#beganMs))
    const transport = Buffer.from(bytesOf(payload))
    this.#waiting.push(transport)
    this.#onTransport(transport, Math.round((nowMs - this.#beganMs) * TICKS_PER_MS) >>> 0)
  }

  #flush(ms: number): void {
    const transport = Buffer.concat(this.#waiting)
    this.#waiting = []
    // A gap in MPEG-TS is no more than a loss: tsdemux goes on behind it.
    this.#pipe.write([transport], { ms, caps: () => CAPS, entry: true })
  }
}
