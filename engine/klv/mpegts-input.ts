import { type AnnouncedVideo, type DemuxerOptions, KlvDemuxer, type MediaReceiver } from '../mpegts/klv-demuxer.ts'
import { payloadOf, payloadTypeOf, timestampOf } from '../rtp/packet/packet.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { KlvPayloader } from './payloader.ts'
import { PcrClock } from './pcr-clock.ts'

export interface MpegTsEvents {
  /** Whether the program maps announce KLV, and with the times of its frames: before its first packet, and when that changes. */
  readonly onAvailable: (available: boolean, synchronous: boolean) => void
  /** The video, once a program map announces it. */
  readonly onVideo: (video: AnnouncedVideo) => void
  /** The map of the video no longer announces it. */
  readonly onVideoLost: () => void
}

/**
 * Demultiplexes the KLV of an MPEG-TS into an RTP stream, synchronous (stream type 0x15) and asynchronous (0x06). tsdemux of
 * GStreamer 1.22 has no pad for synchronous KLV, so the child passes the whole TS as RTP; its timestamps are the running time of arrival.
 */
export class MpegTsInput {
  readonly #klv: RtpStream
  readonly #events: MpegTsEvents
  readonly #demuxer: KlvDemuxer
  readonly #clock = new PcrClock()
  /** Running time of a KLV unit, by the clock that the video has. */
  readonly #ticksOf: (pts: number | null) => number
  readonly #payloader = new KlvPayloader()
  #announced: string | undefined
  #videoKnown = false
  #damaged = 0
  #bytes = 0
  #beganAsRtp = false

  /** `openMedia`: takes video and sound of the same MPEG-TS, with the function that gives the running time of a presentation time stamp. */
  constructor(
    klv: RtpStream,
    events: MpegTsEvents,
    options: DemuxerOptions = {},
    openMedia?: (ticksOf: (pts: number) => number) => MediaReceiver,
  ) {
    this.#klv = klv
    this.#events = events
    this.#demuxer = new KlvDemuxer(
      options,
      openMedia?.((pts) => this.#clock.sourceTicks(pts)),
    )
    this.#ticksOf =
      openMedia === undefined
        ? (pts) => this.#clock.runningTicks(pts)
        : (pts) => (pts === null ? this.#clock.runningTicks(null) : this.#clock.sourceTicks(pts))
  }

  /** What the source sends instead of MPEG-TS; undefined when it sends MPEG-TS, or nothing. */
  get foreign(): 'rtp' | 'other' | undefined {
    // Between the packets of MPEG-TS are the headers of RTP that carries it, at most. Other data has few packets, by chance.
    if (this.#demuxer.counters.skippedBytes * 2 <= this.#bytes) return undefined
    return this.#beganAsRtp ? 'rtp' : 'other'
  }

  /** The caps of the RTP of the child say nothing of what is in the MPEG-TS. */
  setCaps(): void {}

  /** Takes a packet of the child. Never throws. */
  ingestPacket(packet: Buffer): void {
    const range = payloadOf(packet)
    if (range !== undefined) this.demux(packet.subarray(range.start, range.end), timestampOf(packet))
  }

  /** Takes transport packets, and the running time of their arrival, 90 kHz ticks modulo 2^32. Never throws. */
  demux(transport: Buffer, arrival: number): void {
    if (this.#bytes === 0) this.#beganAsRtp = isDynamicRtp(transport)
    this.#bytes += transport.length
    this.#clock.observe(transport, arrival)
    const units = this.#demuxer.push(transport)
    this.#announce()
    this.#announceVideo()
    this.#markDamage()
    for (const { bytes, pts } of units)
      for (const packet of this.#payloader.packetize(bytes, this.#ticksOf(pts))) this.#klv.ingestPacket(packet)
  }

  /** The stream is over: what is complete only with the next packet is complete now. */
  end(): void {
    this.#demuxer.end()
  }

  #announce(): void {
    const { hasKlv, tracks } = this.#demuxer
    if (hasKlv === undefined) return
    const synchronous = tracks?.some((track) => track.synchronous) ?? false
    const announced = `${hasKlv} ${synchronous}`
    if (announced === this.#announced) return
    this.#announced = announced
    this.#events.onAvailable(hasKlv, synchronous)
  }

  #announceVideo(): void {
    const video = this.#videoKnown ? undefined : this.#demuxer.announcedVideo
    if (video !== undefined) {
      this.#videoKnown = true
      this.#events.onVideo(video)
    }
    if (this.#demuxer.videoLost) this.#events.onVideoLost()
  }

  #markDamage(): void {
    const { damaged } = this.#demuxer.counters
    if (damaged !== this.#damaged) this.#payloader.skip()
    this.#damaged = damaged
  }
}

/** RTP with a dynamic payload type (RFC 3551 section 6), as H.264 and H.265 have. */
const isDynamicRtp = (bytes: Buffer): boolean => payloadOf(bytes) !== undefined && payloadTypeOf(bytes) >= 96
