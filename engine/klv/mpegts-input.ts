import { payloadRange, timestampOf } from '../rtp/packet.ts'
import { Rfc4571Reader } from '../rtp/rfc4571.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { KlvDemuxer } from './mpegts/klv-demuxer.ts'
import { KlvPayloader } from './payloader.ts'
import { PcrClock } from './pcr-clock.ts'

/**
 * Gives the KLV of an MPEG-TS to a KLV stream, synchronous (stream type 0x15) and asynchronous (0x06). tsdemux 1.22 has no pad for
 * the synchronous, so the child hands over the whole TS as RTP whose timestamps are the running time of its arrival.
 */
export class MpegTsInput {
  readonly #klv: RtpStream
  readonly #onTrack: () => void
  readonly #framing = new Rfc4571Reader()
  readonly #reader = new KlvDemuxer()
  readonly #clock = new PcrClock()
  readonly #packetizer = new KlvPayloader()
  #announced = false
  #damaged = 0

  /** `onTrack`: the TS says that it carries KLV, which may be silent. */
  constructor(klv: RtpStream, onTrack: () => void) {
    this.#klv = klv
    this.#onTrack = onTrack
  }

  /** Takes what was read from the child's pipe. Never throws. */
  ingest(chunk: Buffer): void {
    this.#framing.push(chunk, (packet) => {
      const range = payloadRange(packet)
      if (range !== undefined) this.#take(packet.subarray(range.start, range.end), timestampOf(packet))
    })
  }

  #take(transport: Buffer, arrival: number): void {
    this.#clock.observe(transport, arrival)
    const units = this.#reader.push(transport)
    this.#noteTrack()
    this.#noteDamage()
    for (const { bytes, pts } of units) this.#klv.ingest(this.#packetizer.frame(bytes, this.#clock.runningTicks(pts)))
  }

  #noteTrack(): void {
    if (this.#announced || (this.#reader.tracks?.length ?? 0) === 0) return
    this.#announced = true
    this.#onTrack()
  }

  #noteDamage(): void {
    const { damaged } = this.#reader.counters
    if (damaged !== this.#damaged) this.#packetizer.skip()
    this.#damaged = damaged
  }
}
