import { randomBytes } from 'node:crypto'
import { Fault } from '../faults/fault.ts'
import { RtpFramingError } from '../rtp/packet/rtp-framing-error.ts'
import { RtpStream } from '../rtp/stream.ts'
import { IGNORE } from '../rtsp/client/client-connection.ts'
import { breakFault, noPackets, notUnderstood, sourceEnded } from '../rtsp/client/client-faults.ts'
import { ClientSession } from '../rtsp/client/client-session.ts'
import type { Described } from '../rtsp/client/describe-source.ts'
import { keepAlive } from '../rtsp/client/keep-alive.ts'
import type { RtspRequest } from '../rtsp/protocol/message.ts'
import { type Carrier, carryOverTcp, carryOverUdp } from './carrier.ts'
import { FloodGuard } from './flood-guard.ts'
import { FrameRouter } from './frame-router.ts'
import { SourceClock } from './source-clock.ts'
import { type PacketSink, TrackInput } from './track-input.ts'
import type { Track, Tracks } from './tracks.ts'

/** Between two receiver reports (RFC 3550 section 6.2), milliseconds. */
const REPORT_INTERVAL_MS = 5000
/** How long the response to TEARDOWN may take, milliseconds. */
const TEARDOWN_MS = 500
/** A server whose packets have not come over UDP after this time is asked for TCP, seconds: a firewall may drop them. */
const UDP_SILENCE_SECONDS = 5

/** An RTSP source that has described itself, over a connection that is open. */
export interface OpenSource {
  readonly described: Described
  readonly tracks: Tracks
  /** How its packets come: inside the connection, or over UDP. */
  readonly transport: 'tcp' | 'udp'
  /** How long a packet that is missing over UDP is waited for, milliseconds. */
  readonly waitMs: number
}

interface SourceRun {
  /** Where the packets go: 0: video, 1: KLV, 2: sound. */
  readonly sinks: readonly PacketSink[]
  /** Ends the reading. */
  readonly signal: AbortSignal
  readonly log: (line: string) => void
}

/**
 * Reads an RTSP source into the sinks: RTP inside its connection (RFC 2326 section 10.12) or over UDP. Resolves to the fault that ended it, or undefined when the signal did; the session is then torn down and the connection closed. Never rejects.
 */
export const readSource = (source: OpenSource, run: SourceRun): Promise<Fault | undefined> => new SourceReading(source, run).read()

/** A track that is to be read. */
interface WantedTrack {
  readonly track: Track
  /** Number of its sink. */
  readonly at: number
  /** As the log names it. */
  readonly name: string
}

interface CarriedTrack {
  readonly input: TrackInput
  readonly carrier: Carrier
  readonly track: Track
  readonly name: string
}

class SourceReading {
  readonly #source: OpenSource
  readonly #run: SourceRun
  readonly #streams: readonly RtpStream[]
  readonly #over = new AbortController()
  readonly #session: ClientSession
  readonly #guard: FloodGuard
  readonly #router: FrameRouter
  #playing = false
  readonly #end = Promise.withResolvers<Fault | undefined>()

  constructor(source: OpenSource, run: SourceRun) {
    this.#source = source
    this.#run = run
    this.#streams = run.sinks.filter((sink) => sink instanceof RtpStream)
    this.#guard = new FloodGuard(this.#streams)
    this.#router = new FrameRouter(this.#guard)
    this.#session = new ClientSession(source.described, this.#over.signal)
  }

  async read(): Promise<Fault | undefined> {
    const { signal } = this.#run
    const { connection } = this.#source.described
    const onAbort = (): void => this.#end.resolve(undefined)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    for (const stream of this.#streams) stream.begin({ foreign: true })
    this.#listen()
    this.#start().catch((error: unknown) => this.#break(error))
    const fault = await this.#end.promise
    signal.removeEventListener('abort', onAbort)
    connection.handlers = IGNORE
    this.#guard.close()
    for (const stream of this.#streams) stream.end()
    this.#over.abort()
    await this.#session.tearDown(AbortSignal.timeout(TEARDOWN_MS))
    connection.close()
    return signal.aborted ? undefined : fault
  }

  #listen(): void {
    const { connection } = this.#source.described
    connection.handlers = {
      onFrame: (channel, payload) => this.#router.take(channel, payload),
      onRequest: (request) => this.#answer(request),
      onRead: (bytes) => this.#router.noteRead(bytes),
      holdsFrames: () => this.#router.holds,
    }
    void connection.closed.then((error) => {
      if (error !== undefined) this.#break(error)
      // Before that, the request without a response has a better error.
      else if (this.#playing) this.#end.resolve(sourceEnded('its server closed the connection'))
    })
  }

  /** The same error may come from the connection and from a request over it. */
  #break(error: unknown): void {
    const { shown } = this.#source.described.address
    const isFraming = error instanceof RtpFramingError
    this.#end.resolve(isFraming ? notUnderstood(shown, 'it sends packets that are not RTP') : breakFault(error, shown))
  }

  async #start(): Promise<void> {
    const wanted = this.#wanted()
    const carried = await this.#setUpTracks(wanted)
    const starts = await this.#session.play()
    // A server may end the session with the answer to PLAY.
    this.#over.signal.throwIfAborted()
    const playedMs = performance.now()
    this.#playing = true
    const tracks = carried.map(({ track }) => track)
    for (const [at, { input }] of carried.entries()) input.played(playedMs, this.#session.startOf(tracks, at, starts))
    this.#router.play()
    const media = carried.map(({ name }) => name).join(' and ')
    const { described, transport } = this.#source
    this.#run.log(`reads ${described.address.shown}: ${media} over ${transport.toUpperCase()}`)
    keepAlive(this.#session, this.#over.signal)
    if (transport === 'udp') this.#expectPackets(described.address.shown)
    this.#reportEvery(REPORT_INTERVAL_MS, carried)
  }

  #wanted(): readonly WantedTrack[] {
    const { video, klv, sound } = this.#source.tracks
    const { found = 0 } = sound ?? {}
    if (found > 1) this.#run.log(`the source has ${found} tracks of sound; the first that can be carried is used`)
    const tracks = [
      [video, video.caps.encodingName],
      [klv, 'KLV'],
      [sound?.track, sound?.track?.caps.encodingName],
    ] as const
    return tracks.flatMap(([track, name = ''], at) => (track === undefined ? [] : [{ track, at, name }]))
  }

  /** Sets up the video, and the others unless the server refuses them. */
  async #setUpTracks(wanted: readonly WantedTrack[]): Promise<readonly CarriedTrack[]> {
    const carried: CarriedTrack[] = []
    const clock = new SourceClock()
    for (const one of wanted) {
      const { track, at, name } = one
      const stream = this.#run.sinks[at]
      const carrier = stream && (await this.#setUp(one, carried.length))
      if (stream === undefined || carrier === undefined) continue
      // The end of the KLV or of the sound is not the end of the source.
      const onEnd = at === 0 ? (how: string): void => this.#end.resolve(sourceEnded(how)) : (): void => {}
      const input = new TrackInput(track, { stream, onEnd, clock })
      if (this.#router.add(input, carrier.channels)) carried.push({ input, carrier, track, name })
      else this.#run.log(`goes on without the track ${name}: its server uses one channel for two tracks`)
    }
    return carried
  }

  /** `number`: how many tracks were set up before. */
  #setUp({ track, at, name }: WantedTrack, number: number): Promise<Carrier | undefined> {
    const { described, transport, waitMs } = this.#source
    const carry = transport === 'udp' ? carryOverUdp : carryOverTcp
    const set = carry(track, number, {
      session: this.#session,
      connection: described.connection,
      router: this.#router,
      onError: (error) => this.#break(error),
      signal: this.#over.signal,
      waitMs,
    })
    if (at === 0) return set
    return set.catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      this.#run.log(`goes on without the track ${name}: ${error.message}`)
      return undefined
    })
  }

  #reportEvery(intervalMs: number, carried: readonly CarriedTrack[]): void {
    const ssrc = randomBytes(4).readUInt32BE()
    // A random name (RFC 7022).
    const cname = randomBytes(12).toString('base64')
    const timer = setInterval(() => {
      for (const { input, carrier } of carried) {
        const report = input.report(ssrc, cname, performance.now())
        if (report !== undefined) carrier.sendReport(report)
      }
    }, intervalMs)
    this.#over.signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  }

  #expectPackets(shown: string): void {
    const timer = setTimeout(() => {
      if (!this.#router.hasPackets) this.#end.resolve(noPackets(shown, UDP_SILENCE_SECONDS))
    }, UDP_SILENCE_SECONDS * 1000)
    this.#over.signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
  }

  /** Answers requests of the server (RFC 2326 section 10); some end the session. */
  #answer(request: RtspRequest): void {
    const { connection } = this.#source.described
    const ends = request.method === 'TEARDOWN' || request.method === 'REDIRECT'
    const known = ends || ['OPTIONS', 'GET_PARAMETER', 'SET_PARAMETER', 'ANNOUNCE'].includes(request.method)
    const more = request.method === 'OPTIONS' ? { Public: 'OPTIONS, GET_PARAMETER, SET_PARAMETER, ANNOUNCE, REDIRECT, TEARDOWN' } : {}
    connection.respond(request, known ? 200 : 501, more)
    if (ends) this.#end.resolve(sourceEnded(`its server sent ${request.method}`))
  }
}
