import { Backoff, type BackoffLimits } from '../../lib/backoff.ts'
import { maskUri } from '../../lib/credentials/mask.ts'
import type { MaskSecrets } from '../../lib/credentials/secrets.ts'
import { pause } from '../../lib/pause.ts'
import type { Log } from '../../lib/ports.ts'
import type { LastError, PushState, PushTarget, PushView } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import { streamAddressOf } from '../../lib/uri/stream-address.ts'
import { Fault, maskFault } from '../faults/fault.ts'
import type { TsFeed } from '../formats/ts-feed.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { type OpenFeed, runChildConnection } from './child-connection.ts'
import type { ConnectionEnd, PushConnection } from './connection.ts'
import { cannotCarry, openToAll } from './faults.ts'
import { isOpenListener, isSentByEngine, pushLine } from './line.ts'
import { receiverAddress } from './receiver-address.ts'
import { runRtspConnection } from './rtsp-connection.ts'
import { nextState, type PushEvent } from './states.ts'

/** Longest pause before the next attempt: the return of a receiver cannot be seen, and the video should be there within 5 s of it. */
const MAX_PAUSE_SECONDS = 3
/** The first KLV and sound of a source that announces them may come this much later than its video: no track can be added to a connection. */
const MORE_WITHIN_MS = 1000

const soon = ({ initial_delay_ms, max_delay_seconds }: BackoffLimits): BackoffLimits => ({
  initial_delay_ms,
  max_delay_seconds: Math.min(max_delay_seconds, MAX_PAUSE_SECONDS),
})

/** What a push needs of its pipeline. */
export interface PushParts {
  readonly pipelineId: string
  /** Place in the configuration, from 1; names the push in logs and metrics. */
  readonly number: number
  readonly target: PushTarget
  readonly video: RtpStream
  /** The KLV that is passed on; undefined when none is. */
  readonly klv: () => RtpStream | undefined
  /** The sound that is passed on; undefined when none is. */
  readonly sound: () => RtpStream | undefined
  /** Whether the source announces KLV, or has sent some. */
  readonly hasKlv: () => boolean
  readonly openFeed: OpenFeed
  readonly settings: () => EngineSettings
  /** Address of outputs that name none. */
  readonly outputHost: string
  readonly mask: MaskSecrets
  /** Adds a line to the log of the push. */
  readonly addLine: (stream: 'stdout' | 'stderr' | 'engine', line: string) => void
  readonly log: Log
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** The view has changed. */
  readonly onChange: () => void
}

/** What the metrics of a push are made of. */
export interface PushFacts {
  readonly number: number
  readonly state: PushState
  readonly bytes: number
  /** Connections after the first, since the pipeline was registered. */
  readonly restarts: number
}

/** One receiver of a pipeline: attempts with backoff from the first media of a play to its end, each with a connection of its own. */
export class Push {
  readonly #parts: PushParts
  readonly #uri: string
  readonly #backoff = new Backoff()
  #state: PushState = 'idle'
  #since: number
  #lastError: LastError | null = null
  #bytesBefore = 0
  #restarts = 0
  #feed: TsFeed | undefined
  /** The receiver has taken video over the present connection. */
  #sent = false
  /** The receiver refused another track than that of the video; until a connection without them ends. */
  #refusesMore = false
  #abort: AbortController | undefined
  /** Ends the present connection for another one. */
  #renew: AbortController | undefined
  #ended: Promise<void> = Promise.resolve()

  constructor(parts: PushParts) {
    this.#parts = parts
    this.#uri = maskUri(parts.target.uri)
    this.#since = parts.now()
  }

  view(): PushView {
    return {
      uri: this.#uri,
      state: this.#state,
      since: new Date(this.#since).toISOString(),
      last_error: this.#lastError,
      bytes: this.#bytes,
    }
  }

  facts(): PushFacts {
    return { number: this.#parts.number, state: this.#state, bytes: this.#bytes, restarts: this.#restarts }
  }

  /** The pipeline plays. Does nothing when the push runs already. */
  begin(): void {
    if (this.#abort !== undefined) return
    const abort = new AbortController()
    this.#abort = abort
    this.#bytesBefore = 0
    this.#lastError = null
    this.#backoff.reset()
    this.#ended = this.#ended.then(() => this.#attemptUntil(abort.signal))
  }

  /** Ends a connection that changed settings do not allow any more. */
  settingsChanged(): void {
    if (this.#isForbidden) this.#renew?.abort()
  }

  /** The pipeline does not play any more: idle at once. Resolves when the connection is closed, and its child reaped. */
  end(): Promise<void> {
    this.#abort?.abort()
    this.#abort = undefined
    this.#countBytes()
    this.#move('stop')
    return this.#ended
  }

  get #bytes(): number {
    // What a child has read that never connected was not sent.
    return this.#bytesBefore + (this.#sent ? (this.#feed?.bytes ?? 0) : 0)
  }

  get #isForbidden(): boolean {
    const { settings, target } = this.#parts
    return settings().readers.authentication === 'password' && isOpenListener(target.uri)
  }

  async #attemptUntil(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      if (!(await this.#mediaIsThere(signal))) return
      if (attempt > 1) this.#restarts += 1
      this.#move('start')
      const end = await this.#attempt(signal).catch(toFault)
      const sent = this.#sent
      this.#countBytes()
      if (signal.aborted || end === 'stopped') return
      if (end !== 'renewed') await this.#pauseAfter(end, sent, signal)
    }
  }

  /** Resolves to the fault that ended the connection. */
  async #attempt(signal: AbortSignal): Promise<ConnectionEnd> {
    const { target, video, klv, sound, openFeed, outputHost, addLine, now } = this.#parts
    const codec = video.caps?.encodingName ?? ''
    const fault = this.#isForbidden ? openToAll() : cannotCarry(target.uri, codec)
    if (fault !== undefined) return fault
    const { host } = streamAddressOf(target.uri)
    const receiver = host === '' ? undefined : await receiverAddress(host, signal)
    const klvStream = klv()
    const withKlv = klvStream?.live === true && !this.#refusesMore
    const soundStream = this.#refusesMore ? undefined : liveOnly(sound())
    const more = [...(withKlv ? [klvStream] : []), ...(soundStream ? [soundStream] : [])]
    const renew = new AbortController()
    this.#renew = renew
    // Its KLV came later: there is a connection with its track then.
    const byEngine = isSentByEngine(target.uri)
    const unsubscribe = byEngine && !withKlv && !this.#refusesMore ? klvStream?.onUnit(() => renew.abort()) : undefined
    try {
      const connection: PushConnection = {
        signal: AbortSignal.any([signal, renew.signal]),
        log: addLine,
        onStart: (feed, pid) => this.#onStart(feed, pid),
        onSending: () => this.#onSending(signal),
      }
      const end = byEngine
        ? await runRtspConnection({ ...connection, uri: target.uri, streams: [video, ...more], now })
        : await runChildConnection({ ...connection, openFeed, line: pushLine(target.uri, { codec, receiver, outputHost }) })
      return this.#videoAloneNext(end === 'stopped' && renew.signal.aborted ? 'renewed' : end, more)
    } finally {
      unsubscribe?.()
    }
  }

  #onStart(feed: TsFeed, pid?: Promise<number | undefined>): void {
    this.#feed = feed
    void pid?.then((known) => {
      if (known !== undefined) this.#parts.addLine('engine', `started process ${known}`)
    })
  }

  #onSending(signal: AbortSignal): void {
    if (signal.aborted) return
    this.#sent = true
    this.#move('sent')
  }

  /** A server that refuses a track of KLV or sound gets the video alone, at once. */
  #videoAloneNext(end: ConnectionEnd, more: readonly RtpStream[]): ConnectionEnd {
    const { target, addLine } = this.#parts
    const sent = this.#sent
    if (!isSentByEngine(target.uri) || !(end instanceof Fault)) return end
    if (more.length === 0 || sent || end.reason === 'unreachable' || end.reason === 'unauthorized') {
      if (sent) this.#refusesMore = false
      return end
    }
    this.#refusesMore = true
    const names = more.map(({ caps }) => (caps?.media === 'audio' ? 'sound' : 'KLV')).join(' and the ')
    addLine('engine', `the receiver does not take the ${names} (${end.message}); the next attempt sends the video alone`)
    return 'renewed'
  }

  async #pauseAfter(fault: Fault, sent: boolean, signal: AbortSignal): Promise<void> {
    const { settings } = this.#parts
    this.#noteFault(maskFault(fault, this.#parts.mask))
    // A connection that worked is no sign that the next one will not. That it worked took a second at least, so this cannot go round quickly.
    if (sent) {
      this.#backoff.reset()
      return
    }
    const { reconnect } = settings()
    // Servers lock a user after repeated wrong passwords; a codec and a missing element seldom change soon.
    const isLasting = fault.permanent && fault.reason !== 'not_found'
    await pause(this.#backoff.next(isLasting ? reconnect : soon(reconnect)), signal)
  }

  #noteFault(fault: Fault): void {
    const { pipelineId, number, log, now, addLine } = this.#parts
    const { reason, message } = fault
    const code = reason === 'engine_missing' ? 'SERVICE_UNAVAILABLE' : 'ENGINE_ERROR'
    const before = this.#lastError?.message
    this.#lastError = { code, message, at: new Date(now()).toISOString() }
    addLine('engine', `${reason}: ${message}`)
    // A receiver that stays away fails every few seconds with the same message.
    log[before === message ? 'debug' : 'warn']('push_fault', { pipeline_id: pipelineId, push: number, reason, message })
    this.#move('fault')
  }

  #countBytes(): void {
    this.#bytesBefore = this.#bytes
    this.#feed = undefined
    this.#sent = false
  }

  #move(event: PushEvent): void {
    const { pipelineId, number, log, now, onChange } = this.#parts
    const next = nextState(this.#state, event)
    if (next === undefined || next === this.#state) return
    this.#state = next
    this.#since = now()
    log[next === 'sending' || next === 'idle' ? 'info' : 'debug']('push_state', {
      pipeline_id: pipelineId,
      push: number,
      state: next,
      after: event,
    })
    onChange()
  }

  /** Waits until the source sends; false when the signal was faster. */
  async #mediaIsThere(signal: AbortSignal): Promise<boolean> {
    const { target, video, klv, sound, hasKlv } = this.#parts
    await untilLive(video, signal)
    const klvStream = isSentByEngine(target.uri) && hasKlv() ? klv() : undefined
    // Known as soon as it is set up, before its first packet.
    const soundStream = isSentByEngine(target.uri) && sound()?.caps !== undefined ? sound() : undefined
    const within = AbortSignal.any([signal, AbortSignal.timeout(MORE_WITHIN_MS)])
    await Promise.all([klvStream, soundStream].map((stream) => stream && untilLive(stream, within)))
    return !signal.aborted
  }
}

const liveOnly = (stream: RtpStream | undefined): RtpStream | undefined => (stream?.live ? stream : undefined)

/** Resolves with the first unit from which a reader can go on, or with the signal. */
const untilLive = async (stream: RtpStream, signal: AbortSignal): Promise<void> => {
  if (stream.live || signal.aborted) return
  const there = Promise.withResolvers<void>()
  const unsubscribe = stream.onUnit(() => {
    if (stream.live) there.resolve()
  })
  const onAbort = (): void => there.resolve()
  signal.addEventListener('abort', onAbort)
  await there.promise
  unsubscribe()
  signal.removeEventListener('abort', onAbort)
}

/** What cannot be launched, such as an address that cannot be read. */
const toFault = (error: unknown): Fault =>
  error instanceof Fault ? error : new Fault('crashed', 'The process of the push could not be started.', { cause: error })
