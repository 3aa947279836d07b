import { payloadRange, timestampOf } from '../rtp/packet.ts'
import { Rfc4571Reader } from '../rtp/rfc4571.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { KlvDemuxer } from './mpegts/klv-demuxer.ts'
import { KlvPayloader } from './payloader.ts'
import { PcrClock } from './pcr-clock.ts'

/**
 * Demultiplexes the KLV of an MPEG-TS into an RTP stream, synchronous (stream type 0x15) and asynchronous (0x06). tsdemux of
 * GStreamer 1.22 has no pad for synchronous KLV, so the child passes the whole TS as RTP; its timestamps are the running time of arrival.
 */
export class MpegTsInput {
  readonly #klv: RtpStream
  readonly #onTrack: () => void
  readonly #framing = new Rfc4571Reader()
  readonly #demuxer = new KlvDemuxer()
  readonly #clock = new PcrClock()
  readonly #payloader = new KlvPayloader()
  #announced = false
  #damaged = 0

  /** `onTrack` is called once a program map announces KLV, before any packet of it. */
  constructor(klv: RtpStream, onTrack: () => void) {
    this.#klv = klv
    this.#onTrack = onTrack
  }

  /** Takes a chunk read from the child's pipe. Never throws. */
  ingest(chunk: Buffer): void {
    this.#framing.push(chunk, (packet) => {
      const range = payloadRange(packet)
      if (range !== undefined) this.#demux(packet.subarray(range.start, range.end), timestampOf(packet))
    })
  }

  #demux(transport: Buffer, arrival: number): void {
    this.#clock.observe(transport, arrival)
    const units = this.#demuxer.push(transport)
    this.#announceTrack()
    this.#markDamage()
    for (const { bytes, pts } of units) this.#klv.ingest(this.#payloader.packetize(bytes, this.#clock.runningTicks(pts)))
  }

  #announceTrack(): void {
    if (this.#announced || (this.#demuxer.tracks?.length ?? 0) === 0) return
    this.#announced = true
    this.#onTrack()
  }

  #markDamage(): void {
    const { damaged } = this.#demuxer.counters
    if (damaged !== this.#damaged) this.#payloader.skip()
    this.#damaged = damaged
  }
}
