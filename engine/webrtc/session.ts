import { randomBytes, randomUUID } from 'node:crypto'
import { Allowance } from '../../lib/access/allowance.ts'
import type { Log } from '../../lib/ports.ts'
import type { Admitted } from '../live/admission.ts'
import { DEFAULT_LIMITS } from '../mount/limits.ts'
import type { MountedSession } from '../mount/mount-point.ts'
import { Reader } from '../mount/reader.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { parseFeedback } from './feedback.ts'
import { KLV_LABEL, KlvChannel } from './klv-channel.ts'
import type { Channel, Peer, PeerEvents } from './peer.ts'
import { RtpSink, type SentTrack } from './rtp-sink.ts'

/** A session that is not connected by then is gone, milliseconds. */
const CONNECT_MS = 10_000
/** RTCP packets and messages on data channels: those of a player are a few dozen per second. */
const RECEIVED = { perSecond: 500, burst: 2000 }
const MAX_CHANNELS = 4
/** A player that is further behind than this at a key frame goes on there. */
const LIMITS = { ...DEFAULT_LIMITS, lagMs: 500 }
/** Number of the mount's track. */
const VIDEO = 0
const REPORT_MS = 1000
/** Channels of the player are open by then, milliseconds after the connection. */
const OPEN_CHANNEL_MS = 1000

/** What goes out in a session, by number of the mount's track. */
export interface SessionMedia {
  readonly streams: readonly (RtpStream | undefined)[]
  readonly tracks: readonly (SentTrack | undefined)[]
  /** The player takes data channels. */
  readonly hasData: boolean
}

interface SessionParts {
  readonly pipelineId: string
  readonly admitted: Admitted
  readonly log: Log
  readonly onConnected: () => void
  readonly onEnd: () => void
}

type EndReason = 'deleted' | 'not_connected' | 'left' | 'flood' | 'pipeline_ended' | 'failed'

/** A player by WebRTC, from its offer to its end. It joins the mount as a reader when it is connected. */
export class Session implements PeerEvents {
  readonly id: string = randomUUID()
  /** Of its ICE session, which is never restarted. */
  readonly etag = `"${randomBytes(9).toString('base64url')}"`
  readonly #parts: SessionParts
  readonly #received = new Allowance(RECEIVED, performance.now())
  readonly #connectTimer: NodeJS.Timeout
  #peer: Peer | undefined
  #media: SessionMedia | undefined
  #sink: RtpSink | undefined
  #mounted: (MountedSession & { reportedLoss: number }) | undefined
  readonly #klv = new KlvChannel()
  #channelTimer: NodeJS.Timeout | undefined
  #channels = 0
  #reportedMs = Number.NEGATIVE_INFINITY
  #ended = false

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#connectTimer = setTimeout(() => this.end('not_connected'), CONNECT_MS)
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Its connection is being made. */
  attach(peer: Peer, media: SessionMedia): void {
    this.#peer = peer
    this.#media = media
    if (this.#ended) peer.close()
  }

  addCandidates(candidates: readonly string[]): void {
    for (const candidate of candidates) this.#peer?.addCandidate(candidate)
  }

  readonly onConnected = (): void => {
    const [peer, media] = [this.#peer, this.#media]
    if (this.#ended || this.#mounted !== undefined || peer === undefined || media === undefined) return
    clearTimeout(this.#connectTimer)
    this.#parts.onConnected()
    this.#join(peer, media)
    if (media.hasData) this.#channelTimer = setTimeout(() => this.#openChannel(peer), OPEN_CHANNEL_MS)
  }

  readonly onEnded = (): void => this.end('left')

  readonly onRtcp = (packet: Buffer): void => {
    if (!this.#mayReceive() || this.#mounted === undefined) return
    const feedback = parseFeedback(packet)
    this.#sink?.resend(feedback)
    if (feedback.wantsKey) this.#sink?.repeat(this.#media?.streams[VIDEO]?.gop?.units ?? [])
    this.#sink?.observe(feedback.reports)
    if (feedback.bitrate !== undefined) this.#sink?.limit(feedback.bitrate)
    const losses = feedback.reports.map(({ fraction }) => fraction)
    if (losses.length > 0) this.#mounted.reportedLoss = Math.max(...losses)
    this.#reportVideo()
  }

  /** The way to the player is measured by reports, which the mount sends less often. */
  #reportVideo(): void {
    const [nowMs, stream] = [performance.now(), this.#media?.streams[VIDEO]]
    if (nowMs - this.#reportedMs < REPORT_MS || stream === undefined) return
    this.#reportedMs = nowMs
    const report = this.#parts.admitted.point.senderReport(stream)
    if (report !== undefined) this.#sink?.sendReport(VIDEO, report)
  }

  readonly onChannel = (channel: Channel): void => {
    this.#channels += 1
    if (this.#channels > MAX_CHANNELS) this.end('flood')
    else if (channel.label === KLV_LABEL) this.#klv.use(channel)
  }

  readonly onMessage = (): void => void this.#mayReceive()

  end(reason: EndReason): void {
    if (this.#ended) return
    this.#ended = true
    const { admitted, onEnd, log, pipelineId } = this.#parts
    clearTimeout(this.#connectTimer)
    clearTimeout(this.#channelTimer)
    admitted.release()
    this.#mounted?.reader.pause()
    this.#sink?.close()
    this.#peer?.close()
    if (this.#mounted !== undefined) admitted.point.remove(this.#mounted)
    log.debug('webrtc_session_ended', { pipeline_id: pipelineId, session: this.id, reason })
    onEnd()
  }

  /** For a player that waits for the channel instead of opening it. */
  #openChannel(peer: Peer): void {
    const channel = this.#klv.isUsed ? undefined : peer.openChannel(KLV_LABEL)
    if (channel !== undefined) this.#klv.use(channel)
  }

  #mayReceive(): boolean {
    if (this.#received.use(1, performance.now())) return !this.#ended
    this.end('flood')
    return false
  }

  #join(peer: Peer, { streams, tracks, hasData }: SessionMedia): void {
    const { point, release } = this.#parts.admitted
    release()
    if (point.closed) {
      this.end('pipeline_ended')
      return
    }
    const sink = new RtpSink(peer, tracks, hasData ? this.#klv : undefined)
    const reader = new Reader(streams, sink, LIMITS, point.counters)
    this.#sink = sink
    this.#mounted = { client: 'webrtc', reader, reportedLoss: 0, end: () => this.end('pipeline_ended') }
    reader.prepare(performance.now())
    point.add(this.#mounted)
    // First, so that sound and pictures are shown together from the beginning.
    for (const { at, stream } of point.tracks) {
      const report = streams[at] === stream ? point.senderReport(stream) : undefined
      if (report !== undefined) sink.sendReport(at, report)
    }
    reader.start()
  }
}
