import { payloadOf, payloadTypeOf, RTP_HEADER_BYTES } from '../rtp/packet/packet.ts'
import { formatReceiverReport, isRtcp, parseSenderPacket, type SenderClock } from '../rtp/packet/rtcp.ts'
import { isNalCodec, NAL_FORMATS, type NalCodec } from '../rtp/repair/nal-units.ts'
import { otherCodec } from '../rtp/repair/other-codec.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { Reception } from './reception.ts'
import type { SourceClock } from './source-clock.ts'
import type { Track } from './tracks.ts'

/** A track's first timestamp that is further from the moment of PLAY than this contradicts RTP-Info, milliseconds. */
const MAX_START_ERROR_MS = 5000

const isRtp = (packet: Buffer): boolean => packet.length >= RTP_HEADER_BYTES && (packet[0] ?? 0) >> 6 === 2

/** Where the packets of a track go. */
export type PacketSink = Pick<RtpStream, 'setCaps' | 'holds' | 'noteRead' | 'ingestPacket'>

interface TrackOutput {
  readonly stream: PacketSink
  /** Called when the track ends; `how` completes "The source ended the stream:". */
  readonly onEnd: (how: string) => void
  /** Shared by the tracks of a source. */
  readonly clock?: SourceClock
}

/** Passes the packets of one track from the connection into a stream. */
export class TrackInput {
  readonly #stream: PacketSink
  readonly #track: Track
  /** The codec, if it is H.264 or H.265: some sources change between them without notice. */
  readonly #codec: NalCodec | undefined
  readonly #reception: Reception
  readonly #onEnd: (how: string) => void
  readonly #clock: SourceClock | undefined
  /** When the response to PLAY came, monotonic milliseconds, and the timestamp of that moment by RTP-Info. */
  #played = { atMs: 0, timestamp: undefined as number | undefined }
  /** RTP timestamp of the source at running time 0. */
  #zero: number | undefined
  /** RTP timestamp of the newest packet, and its running time in ticks, which does not wrap. */
  #newest = { timestamp: 0, ticks: 0 }
  /** A report that came before the first packet. */
  #early: SenderClock | undefined

  constructor(track: Track, { stream, onEnd, clock }: TrackOutput) {
    this.#track = track
    this.#stream = stream
    this.#codec = isNalCodec(track.caps.encodingName) ? track.caps.encodingName : undefined
    this.#reception = new Reception(track.caps.clockRate)
    this.#onEnd = onEnd
    this.#clock = clock
    stream.setCaps(track.caps)
  }

  /** Packets are held: their memory must not change. */
  get holds(): boolean {
    return this.#stream.holds
  }

  /** Counts bytes that were read; the packets are views of them. */
  noteRead(bytes: number): void {
    this.#stream.noteRead(bytes)
  }

  /** The response to PLAY came; `timestamp`: where the track begins by RTP-Info. */
  played(atMs: number, timestamp: number | undefined): void {
    this.#played = { atMs, timestamp }
  }

  /** Whether a packet on a channel that belongs to no track looks like one of this track. */
  claims(packet: Buffer): boolean {
    return isRtp(packet) && payloadTypeOf(packet) === this.#track.payload && !isRtcp(packet)
  }

  /** Takes a packet of RTP or RTCP; some servers send both on one channel. Throws RtpFramingError after many that are neither. */
  take(packet: Buffer, arrivedMs: number): void {
    if (isRtcp(packet)) this.#takeReport(packet, arrivedMs)
    else this.#takeMedia(packet, arrivedMs)
  }

  /** A receiver report; undefined before the first packet. */
  report(ssrc: number, cname: string, nowMs: number): Buffer | undefined {
    const report = this.#reception.report(nowMs)
    return report && formatReceiverReport(ssrc, report, cname)
  }

  #takeMedia(packet: Buffer, arrivedMs: number): void {
    if (isRtp(packet)) {
      // Another payload type of the same track: retransmissions, comfort noise.
      if (payloadTypeOf(packet) !== this.#track.payload) return
      this.#reception.packet(packet, arrivedMs)
      this.#retime(packet, arrivedMs)
      this.#endAtOtherCodec(packet)
    }
    this.#stream.ingestPacket(packet)
  }

  /** Some encoders change their codec inside a session: readers were described the previous one. */
  #endAtOtherCodec(packet: Buffer): void {
    const payload = this.#codec && payloadOf(packet)
    if (this.#codec === undefined || payload === undefined) return
    const { typeOf, fragment } = NAL_FORMATS[this.#codec]
    // Most packets are fragments; no parameter set of the other codec looks like one.
    if (typeOf(packet[payload.start] ?? 0) === fragment) return
    const other = otherCodec(this.#codec, packet.subarray(payload.start, payload.end))
    if (other !== undefined) this.#onEnd(`it goes on with ${other} instead of ${this.#codec}`)
  }

  #takeReport(packet: Buffer, arrivedMs: number): void {
    const { reportTime, clock, goodbyes } = parseSenderPacket(packet)
    if (clock !== undefined) this.#takeClock(clock)
    if (reportTime !== undefined) this.#reception.senderReport(reportTime, arrivedMs)
    if (goodbyes.includes(this.#reception.ssrc)) this.#onEnd('it sent BYE')
  }

  #retime(packet: Buffer, arrivedMs: number): void {
    const timestamp = packet.readUInt32BE(4)
    if (this.#zero === undefined) {
      this.#zero = this.#findZero(timestamp, arrivedMs)
      this.#newest = { timestamp, ticks: (timestamp - this.#zero) | 0 }
      if (this.#early !== undefined) this.#takeClock(this.#early)
    }
    if (this.#track.caps.media === 'audio') this.#correct()
    // The correction may have moved it.
    const ticks = this.#newest.ticks + ((timestamp - this.#newest.timestamp) | 0)
    this.#newest = { timestamp, ticks }
    packet.writeUInt32BE((timestamp - this.#zero) >>> 0, 4)
  }

  /** Takes the wall clock of a report. */
  #takeClock(clock: SenderClock): void {
    if (this.#zero === undefined) this.#early = clock
    if (this.#clock === undefined || this.#zero === undefined) return
    const { media, clockRate } = this.#track.caps
    const runningMs = ((this.#newest.ticks + ((clock.timestamp - this.#newest.timestamp) | 0)) * 1000) / clockRate
    if (media === 'video') this.#clock.reportVideo(clock.wallMs, runningMs)
    if (media === 'audio') this.#clock.reportSound(clock.wallMs, runningMs)
  }

  /** Moves the sound to where its reports say that it belongs. */
  #correct(): void {
    const ticks = Math.round(((this.#clock?.takeCorrection() ?? 0) * this.#track.caps.clockRate) / 1000)
    if (this.#zero === undefined || ticks === 0) return
    this.#zero = (this.#zero - ticks) >>> 0
    this.#newest = { ...this.#newest, ticks: this.#newest.ticks + ticks }
  }

  #findZero(first: number, arrivedMs: number): number {
    const { clockRate } = this.#track.caps
    const { atMs, timestamp } = this.#played
    const sinceMs = arrivedMs - atMs
    const byInfoMs = timestamp === undefined ? Number.NaN : (((first - timestamp) | 0) * 1000) / clockRate
    if (timestamp !== undefined && Math.abs(byInfoMs - sinceMs) < MAX_START_ERROR_MS) return timestamp
    return (first - Math.round((sinceMs * clockRate) / 1000)) >>> 0
  }
}
