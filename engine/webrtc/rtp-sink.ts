import { randomInt } from 'node:crypto'
import { Allowance } from '../../lib/access/allowance.ts'
import type { Sink } from '../mount/sink.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import { MARKER, RTP_HEADER_BYTES } from '../rtp/packet/packet.ts'
import type { Feedback, PathReport } from './feedback.ts'
import type { KlvChannel } from './klv-channel.ts'
import { Pacer } from './pacer.ts'
import type { Peer } from './peer.ts'
import { type NumberedPacket, SentPackets } from './sent-packets.ts'
import type { UnitPackets } from './unit-packets.ts'

/** How a track goes out. */
export interface SentTrack {
  readonly ssrc: number
  readonly payloadType: number
  readonly packets: UnitPackets
  /** Id of the header extension for the playout delay, if it was agreed on. */
  readonly delayExtension?: number | undefined
  /** Units that came before the session are left out: a player of sound would stay behind by them. */
  readonly liveOnly?: boolean
}

interface Series extends SentTrack {
  readonly sent: SentPackets
}

/** Numbers of the mount's tracks. */
const [VIDEO, KLV] = [0, 1]
/** Packets that one session may have sent again: more would double its bandwidth while it has none left. */
const RESENT = { perSecond: 1000, burst: 1000 }
/** GOPs that one session may have once more. */
const REPEATED = { perSecond: 1, burst: 4 }
/** The pictures of a repeated GOP have times within this many ticks after the last one, before those of the next one. */
const REPEATED_TICKS = 1400
/** A larger GOP would hold up the pictures after it, bytes: the player waits for the next key frame. */
const MAX_REPEATED_BYTES = 4 * 1024 * 1024
const MAX_PACKET_BYTES = 2048
/** Offset of the middle of the NTP time in a sender report (RFC 3550 section 6.4.1). */
const NTP_MIDDLE = 10
/** Sender reports of which nothing was heard yet. */
const MAX_REPORTS = 8
/** A header extension of one byte (RFC 8285 section 4.2): its head, and one element in four bytes. */
const EXTENSION_BYTES = 8

/** Sends the media of one session, in packets with numbers of its own, at a pace. */
export class RtpSink implements Sink {
  onReady: () => void = () => {}
  readonly stuckSinceMs = undefined
  readonly #peer: Pick<Peer, 'send'>
  readonly #series: readonly (Series | undefined)[]
  readonly #klv: KlvChannel | undefined
  readonly #pacer: Pacer<readonly [Series, NumberedPacket]>
  readonly #beganMs = performance.now()
  readonly #resent = new Allowance(RESENT, performance.now())
  readonly #repeated = new Allowance(REPEATED, performance.now())
  /** When the last sender reports of the video were sent, by the middle of their NTP time. */
  readonly #reportedMs = new Map<number, number>()
  /** The library copies what it sends. */
  readonly #scratch = Buffer.alloc(MAX_PACKET_BYTES)

  /** `tracks` by number of the mount's track; `klv` takes the second, which is no RTP here. */
  constructor(peer: Pick<Peer, 'send'>, tracks: readonly (SentTrack | undefined)[], klv?: KlvChannel) {
    this.#peer = peer
    this.#klv = klv
    this.#series = tracks.map((track) => track && { ...track, sent: new SentPackets(randomInt(0x10000)) })
    this.#pacer = new Pacer(
      ([series, packet]) => this.#write(series, packet),
      () => this.onReady(),
    )
  }

  get busy(): boolean {
    return this.#pacer.busy
  }

  send(track: number, unit: AccessUnit, timestamp = unit.timestamp): number {
    if (track === KLV) return this.#klv?.add(unit) ?? 0
    const series = this.#series[track]
    if (series === undefined) return 0
    if (series.liveOnly === true && unit.arrivedMs < this.#beganMs) return 0
    for (const body of series.packets.of(unit)) this.#pacer.push([series, series.sent.add(body, timestamp)], body.payload.length)
    this.#pacer.run()
    if (track === VIDEO) this.#klv?.picture(unit, timestamp)
    return unit.bytes
  }

  sendReport(track: number, packet: Buffer): void {
    if (this.#series[track] === undefined) return
    if (track === VIDEO) this.#noteReport(packet)
    this.#peer.send(packet)
  }

  /** What the receiver says of the way to it, once for each sender report. */
  observe(reports: readonly PathReport[]): void {
    for (const { ssrc, fraction, lastReport, delayMs } of reports) {
      const sentMs = ssrc === this.#series[VIDEO]?.ssrc ? this.#reportedMs.get(lastReport) : undefined
      if (sentMs === undefined) continue
      this.#reportedMs.delete(lastReport)
      this.#pacer.observe(fraction, performance.now() - sentMs - delayMs)
    }
  }

  #noteReport(packet: Buffer): void {
    this.#reportedMs.set(packet.readUInt32BE(NTP_MIDDLE), performance.now())
    const [oldest] = this.#reportedMs.keys()
    if (oldest !== undefined && this.#reportedMs.size > MAX_REPORTS) this.#reportedMs.delete(oldest)
  }

  /** The receiver estimates that it can receive this much, bits per second. */
  limit(bitrate: number): void {
    this.#pacer.limit(bitrate / 8000)
  }

  /** Sends again what a receiver lacks, as far as it is kept. */
  resend({ missing }: Feedback): void {
    const nowMs = performance.now()
    for (const { ssrc, sequences } of missing) {
      const series = this.#series.find((each) => each?.ssrc === ssrc)
      for (const sequence of series === undefined ? [] : sequences) {
        const packet = series?.sent.find(sequence)
        if (series === undefined || packet === undefined) continue
        if (!this.#resent.use(1, nowMs)) return
        this.#write(series, packet)
      }
    }
  }

  /**
   * Sends the GOP of the present picture once more, in new packets, for a player that lacks its beginning: a camera has no other key frame
   * now. Not while pictures wait, and not to one that can receive less than comes.
   */
  repeat(units: readonly AccessUnit[]): void {
    const [series, last] = [this.#series[VIDEO], units.at(-1)]
    if (series === undefined || last === undefined || this.busy || this.#pacer.isLimited) return
    if (units.length > REPEATED_TICKS || units.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_REPEATED_BYTES) return
    if (!this.#repeated.use(1, performance.now())) return
    for (const [at, unit] of units.entries()) {
      const timestamp = last.timestamp + 1 + Math.floor((at * REPEATED_TICKS) / units.length)
      for (const body of series.packets.of(unit)) this.#pacer.push([series, series.sent.add(body, timestamp)], body.payload.length)
    }
    this.#pacer.run()
  }

  close(): void {
    this.onReady = () => {}
    this.#pacer.close()
  }

  #write({ ssrc, payloadType, delayExtension }: Series, { marker, payload, sequence, timestamp }: NumberedPacket): void {
    const head = RTP_HEADER_BYTES + (delayExtension === undefined ? 0 : EXTENSION_BYTES)
    if (head + payload.length > MAX_PACKET_BYTES) return
    const out = this.#scratch
    out[0] = delayExtension === undefined ? 0x80 : 0x90
    out[1] = payloadType | (marker ? MARKER : 0)
    out.writeUInt16BE(sequence, 2)
    out.writeUInt32BE(timestamp >>> 0, 4)
    out.writeUInt32BE(ssrc, 8)
    if (delayExtension !== undefined) {
      out.writeUInt32BE(0xbede0001, 12)
      // Three bytes: both delays are 0.
      out.writeUInt32BE(((delayExtension << 4) | 2) * 2 ** 24, 16)
    }
    payload.copy(out, head)
    this.#peer.send(out.subarray(0, head + payload.length))
  }
}
