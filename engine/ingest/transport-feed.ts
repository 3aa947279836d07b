import { Allowance } from '../../lib/access/allowance.ts'
import { sourceFlood } from '../faults/network-faults.ts'
import { bytesOf, payloadOf } from '../rtp/packet/packet.ts'
import type { ChildPipe } from './child-pipe.ts'
import type { PacketSink } from './track-input.ts'

/** 500 Mbit/s in packets of 1,250 bytes. What is read at once counts by its bytes. */
const PACKETS = { perSecond: 50_000, burst: 16_000 } as const
const BYTES_OF_PACKET = 1250
const CAPS = 'video/mpegts,systemstream=(boolean)true,packetsize=(int)188'
const TICKS_PER_MS = 90

/** Takes MPEG-TS, also in RTP packets (RFC 2250 section 2), with the times of its arrival, and passes it to a child, if any. */
export class TransportFeed implements PacketSink {
  readonly holds = false
  readonly #pipe: ChildPipe | undefined
  readonly #onTransport: (transport: Buffer, arrival: number) => void
  readonly #allowance = new Allowance(PACKETS, performance.now())
  readonly #beganMs = performance.now()
  #waiting: Buffer[] = []

  /** `onTransport` gets the same bytes, with their arrival in 90 kHz ticks of the same time. */
  constructor(pipe: ChildPipe | undefined, onTransport: (transport: Buffer, arrival: number) => void) {
    this.#pipe = pipe
    this.#onTransport = onTransport
  }

  setCaps(): void {}

  noteRead(): void {}

  /** Throws Fault source_flood. */
  ingestPacket(packet: Buffer): void {
    const payload = payloadOf(packet)
    // A copy, since the memory of the read is used again.
    if (payload === undefined) this.#count(0)
    else this.take(Buffer.from(bytesOf(payload)))
  }

  /** Takes transport packets, whose memory stays as it is, and when they came, monotonic milliseconds. Throws Fault source_flood. */
  take(transport: Buffer, nowMs = performance.now()): void {
    this.#count(transport.length)
    if (this.#pipe !== undefined) this.#pass(transport, this.#pipe, nowMs)
    this.#onTransport(transport, Math.round((nowMs - this.#beganMs) * TICKS_PER_MS) >>> 0)
  }

  #count(bytes: number): void {
    if (!this.#allowance.use(Math.max(1, bytes / BYTES_OF_PACKET), performance.now())) throw sourceFlood()
  }

  /** One write for all that was read at once. */
  #pass(transport: Buffer, pipe: ChildPipe, nowMs: number): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#flush(pipe, nowMs - this.#beganMs))
    this.#waiting.push(transport)
  }

  #flush(pipe: ChildPipe, ms: number): void {
    const transport = Buffer.concat(this.#waiting)
    this.#waiting = []
    // A gap in MPEG-TS is no more than a loss: tsdemux goes on behind it.
    pipe.write([transport], { ms, caps: () => CAPS, entry: true })
  }
}
