import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { frameRateHint } from '../../mount/frame-rate-hint.ts'
import type { PublisherLimits } from '../../mount/limits.ts'
import type { MountedSession, MountPoint } from '../../mount/mount-point.ts'
import { Reader, type TrackStart } from '../../mount/reader.ts'
import type { Sink } from '../../mount/sink.ts'
import { parseReports } from '../../rtp/packet/rtcp.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import { InterleavedSink } from './sinks/interleaved-sink.ts'
import { closeUdpPair, type UdpPair } from './sinks/udp-pair.ts'
import { UdpSink } from './sinks/udp-sink.ts'

export type TrackTransport = { readonly kind: 'interleaved'; readonly channel: number } | { readonly kind: 'udp'; readonly pair: UdpPair }

/** The connection that opens a session. */
interface SessionClient {
  /** The address as limits count it. */
  readonly client: string
  readonly socket: Socket
  /** Its description did not state the frame rate. */
  readonly guessesRate: boolean
}

/** One RTSP session (RFC 2326 section 3): the tracks that were set up, and their reader while it plays. It ends with its connection. */
export class ServerSession implements MountedSession {
  /** Unguessable (RFC 2326 section 3.4). */
  readonly id = randomBytes(16).toString('hex')
  readonly mount: MountPoint
  readonly client: string
  readonly #socket: Socket
  readonly #guessesRate: boolean
  readonly #limits: PublisherLimits
  readonly #onEnd: () => void
  /** By number of the mount's stream. */
  readonly #tracks = new Map<number, TrackTransport>()
  #reader: Reader | undefined
  #sink: Sink | undefined
  #playing = false
  #ended = false
  #aliveMs = performance.now()
  reportedLoss = 0

  constructor(mount: MountPoint, client: SessionClient, limits: PublisherLimits, onEnd: () => void) {
    this.mount = mount
    this.client = client.client
    this.#socket = client.socket
    this.#guessesRate = client.guessesRate
    this.#limits = limits
    this.#onEnd = onEnd
  }

  get tracks(): ReadonlyMap<number, TrackTransport> {
    return this.#tracks
  }

  get transport(): TrackTransport['kind'] | undefined {
    return this.#tracks.values().next().value?.kind
  }

  get playing(): boolean {
    return this.#playing
  }

  /** Has played: no track can be added any more. */
  get started(): boolean {
    return this.#sink !== undefined
  }

  get reader(): Reader {
    this.#reader ??= this.#createReader()
    return this.#reader
  }

  setUp(track: number, transport: TrackTransport): void {
    this.#tracks.set(track, transport)
    if (transport.kind !== 'udp') return
    transport.pair.rtcp.on('message', (packet) => this.receiveReport(packet))
  }

  #createReader(): Reader {
    const { streams } = this.mount.options
    const transports = streams.map((_, at) => this.#tracks.get(at))
    this.#sink = this.transport === 'udp' ? udpSink(transports) : interleavedSink(this.#socket, transports)
    const setUp = streams.map((stream, at) => (this.#tracks.has(at) ? stream : undefined))
    const rate = { replaceFor: (stream: RtpStream) => frameRateHint(stream).join(), guessed: this.#guessesRate }
    return new Reader(setUp, this.#sink, this.#limits, this.mount.counters, rate)
  }

  /** Joins the mount; media is sent from `begin` on, after the response. */
  play(): readonly (TrackStart | undefined)[] {
    const starts = this.reader.prepare(performance.now())
    this.#playing = true
    this.mount.add(this)
    return starts
  }

  begin(): void {
    if (!this.#playing || this.#ended) return
    this.reader.start()
    this.mount.reportTo(this.reader)
  }

  pause(): void {
    this.#playing = false
    this.#reader?.pause()
  }

  /** The reader is alive: a request or a report came. */
  touch(): void {
    this.#aliveMs = performance.now()
  }

  /** RTCP from the reader (RFC 3550 section 6.4.2); anything else is ignored. */
  receiveReport(packet: Buffer): void {
    const blocks = parseReports(packet)
    if (blocks === undefined) return
    this.touch()
    const ours = blocks.filter((block) => this.mount.tracks.some(({ stream }) => stream.ssrc === block.ssrc))
    if (ours.length > 0) this.reportedLoss = Math.max(...ours.map((block) => block.fractionLost))
  }

  /** Why the session must end now; undefined when it may continue. */
  overdue(nowMs: number): 'timeout' | 'stalled' | undefined {
    const stuck = this.#sink?.stuckSinceMs
    if (stuck !== undefined && nowMs - stuck > this.#limits.stalledMs) return 'stalled'
    // Over TCP the open connection proves that the player is alive; many send no keepalive. Over UDP the same holds while the
    // source is away: a player without media sends no reports, and ffmpeg sends its keepalive only between two packets.
    if (this.#playing && (this.transport === 'interleaved' || !this.mount.ready)) this.touch()
    return nowMs - this.#aliveMs > this.#limits.sessionTimeoutMs ? 'timeout' : undefined
  }

  /** Sends RTCP BYE, frees the ports and leaves the mount. The connection may stay open. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#playing && this.#reader) this.mount.goodbyeTo(this.#reader)
    this.#reader?.pause()
    this.#playing = false
    this.mount.remove(this)
    if (this.#sink) this.#sink.close()
    else for (const track of this.#tracks.values()) if (track.kind === 'udp') closeUdpPair(track.pair)
    this.#onEnd()
  }
}

const interleavedSink = (socket: Socket, tracks: readonly (TrackTransport | undefined)[]): Sink =>
  new InterleavedSink(
    socket,
    tracks.map((track) => (track?.kind === 'interleaved' ? track.channel : 0)),
  )

const udpSink = (tracks: readonly (TrackTransport | undefined)[]): Sink =>
  new UdpSink(tracks.map((track) => (track?.kind === 'udp' ? track.pair : undefined)))
