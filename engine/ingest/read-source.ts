import { randomBytes } from 'node:crypto'
import { Fault } from '../faults/fault.ts'
import { RtpFramingError, type RtpStream } from '../rtp/stream.ts'
import { IGNORE } from '../rtsp/client/client-connection.ts'
import { breakFault, notUnderstood, sourceEnded } from '../rtsp/client/client-faults.ts'
import { RtspSession } from '../rtsp/client/client-session.ts'
import type { Described } from '../rtsp/client/describe-source.ts'
import { keepAlive } from '../rtsp/client/keep-alive.ts'
import { formatInterleaved } from '../rtsp/protocol/interleaved.ts'
import type { RtspRequest } from '../rtsp/protocol/message.ts'
import type { Channels } from '../rtsp/protocol/transport.ts'
import { FrameRouter } from './frame-router.ts'
import { TrackInput } from './track-input.ts'
import type { Track, Tracks } from './tracks.ts'

/** Between two receiver reports (RFC 3550 section 6.2), milliseconds. */
const REPORT_INTERVAL_MS = 5000
/** How long the response to TEARDOWN may take, milliseconds. */
const TEARDOWN_MS = 500

/** An RTSP source that has described itself, over a connection that is open. */
export interface OpenSource {
  readonly described: Described
  readonly tracks: Tracks
}

interface SourceRun {
  /** 0: video, 1: KLV. */
  readonly streams: readonly [RtpStream, RtpStream]
  /** Ends the reading. */
  readonly signal: AbortSignal
  readonly log: (line: string) => void
}

/**
 * Reads an RTSP source over its connection into the streams: RTP inside the connection (RFC 2326 section 10.12). Resolves to the fault
 * that ended it, or undefined when the signal did; the session is then torn down and the connection closed. Never rejects.
 */
export const readSource = (source: OpenSource, run: SourceRun): Promise<Fault | undefined> => new SourceReading(source, run).read()

class SourceReading {
  readonly #source: OpenSource
  readonly #run: SourceRun
  readonly #over = new AbortController()
  readonly #session: RtspSession
  readonly #router = new FrameRouter()
  #playing = false
  readonly #end = Promise.withResolvers<Fault | undefined>()

  constructor(source: OpenSource, run: SourceRun) {
    this.#source = source
    this.#run = run
    this.#session = new RtspSession(source.described, this.#over.signal)
  }

  async read(): Promise<Fault | undefined> {
    const { streams, signal } = this.#run
    const { connection } = this.#source.described
    const onAbort = (): void => this.#end.resolve(undefined)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    for (const stream of streams) stream.begin({ foreign: true })
    this.#listen()
    this.#start().catch((error: unknown) => this.#break(error))
    const fault = await this.#end.promise
    signal.removeEventListener('abort', onAbort)
    connection.handlers = IGNORE
    for (const stream of streams) stream.end()
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
      // Before that, the request that gets no response says more.
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
    const { video, klv } = this.#source.tracks
    const wanted: readonly Track[] = klv === undefined ? [video] : [video, klv]
    const inputs = await this.#setUpTracks(wanted)
    const starts = await this.#session.play()
    // A server may end the session with the answer to PLAY.
    this.#over.signal.throwIfAborted()
    const playedMs = performance.now()
    this.#playing = true
    for (const [at, input] of inputs.entries()) input.played(playedMs, this.#session.startOf(wanted, at, starts))
    this.#router.play()
    const carried = inputs.length === 1 ? video.caps.encodingName : `${video.caps.encodingName} and KLV`
    this.#run.log(`reads ${this.#source.described.address.shown} without a process: ${carried} over TCP`)
    keepAlive(this.#session, this.#over.signal)
    this.#reportEvery(REPORT_INTERVAL_MS, inputs)
  }

  /** The tracks that the server sends: the video, and the KLV unless the server refuses it. */
  async #setUpTracks(wanted: readonly Track[]): Promise<readonly TrackInput[]> {
    const inputs: TrackInput[] = []
    for (const [at, track] of wanted.entries()) {
      const channels = await this.#setUp(track, at)
      if (channels === undefined) continue
      // The end of the KLV is not the end of the source.
      const onEnd = at === 0 ? (how: string): void => this.#end.resolve(sourceEnded(how)) : (): void => {}
      const input = new TrackInput(track, { stream: this.#run.streams[at === 0 ? 0 : 1], rtcp: channels.rtcp, onEnd })
      if (!this.#router.add(input, channels))
        throw notUnderstood(this.#source.described.address.shown, 'it uses one channel for two tracks')
      inputs.push(input)
    }
    return inputs
  }

  #setUp(track: Track, at: number): Promise<Channels | undefined> {
    const set = this.#session.setUp(track, { rtp: 2 * at, rtcp: 2 * at + 1 })
    if (at === 0) return set
    return set.catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      this.#run.log(`goes on without the KLV track: ${error.message}`)
      return undefined
    })
  }

  #reportEvery(intervalMs: number, inputs: readonly TrackInput[]): void {
    const { connection } = this.#source.described
    const ssrc = randomBytes(4).readUInt32BE()
    // RFC 7022: a name that no other has and that tells nothing.
    const cname = randomBytes(12).toString('base64')
    const timer = setInterval(() => {
      for (const input of inputs) {
        const report = input.report(ssrc, cname, performance.now())
        if (input.rtcp !== undefined && report !== undefined) connection.sendFrame(formatInterleaved(input.rtcp, report))
      }
    }, intervalMs)
    this.#over.signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  }

  /** Requests of the server (RFC 2326 section 10): to a player they are questions, or the end. */
  #answer(request: RtspRequest): void {
    const { connection } = this.#source.described
    const ends = request.method === 'TEARDOWN' || request.method === 'REDIRECT'
    const known = ends || ['OPTIONS', 'GET_PARAMETER', 'SET_PARAMETER', 'ANNOUNCE'].includes(request.method)
    const more = request.method === 'OPTIONS' ? { Public: 'OPTIONS, GET_PARAMETER, SET_PARAMETER, ANNOUNCE, REDIRECT, TEARDOWN' } : {}
    connection.respond(request, known ? 200 : 501, more)
    if (ends) this.#end.resolve(sourceEnded(`its server sent ${request.method}`))
  }
}
