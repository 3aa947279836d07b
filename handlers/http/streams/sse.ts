import type { Streams } from '../../../lib/access/streams.ts'
import type { EventFeed } from '../../../lib/events/feed.ts'
import type { CurrentStatus } from '../../../lib/events/hub.ts'
import type { ApiEvent, EventFilter } from '../../../lib/events/replay-buffer.ts'
import type { Exchange } from '../route.ts'
import { StreamBody, streamAnswer } from './stream-body.ts'

/** Milliseconds that a client waits before it reconnects; sent once. */
const RETRY_MS = 2000
const KEEPALIVE_MS = 30_000
/** A client with this much unread is disconnected; it reconnects and replays what it missed. */
const MAX_BACKLOG_BYTES = 1024 * 1024
/** Most events that may wait for the first status. */
const MAX_EARLY = 1000

const encoder = new TextEncoder()
const KEEPALIVE = encoder.encode(': keepalive\n\n')
const RETRY = encoder.encode(`retry: ${RETRY_MS}\n\n`)

interface EventStreamOptions {
  readonly feed: Pick<EventFeed, 'subscribe' | 'missedSince'>
  readonly filter: EventFilter
  /** `Last-Event-ID`: the last event that the client received. */
  readonly lastEventId: string | null
  /** The present status, sent after the missed events. When reading it fails, it is read again at each keepalive. */
  readonly status?: (() => Promise<CurrentStatus>) | undefined
  /** The event after which the stream ends. */
  readonly isLast?: (event: ApiEvent) => boolean
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /** Counts the stream, and ends it with its session; see `Streams`. */
  readonly hold?: ((end: () => void) => () => void) | undefined
}

/** The options that come from the client's request. */
export const clientOf = ({ request, context, admission }: Exchange, streams: Streams) => ({
  lastEventId: request.headers.get('last-event-id'),
  signal: request.signal,
  hold: (end: () => void) => streams.open({ admission, clientAddress: context.clientAddress }, end),
})

/**
 * An answer of Server-Sent Events (WHATWG HTML section 9.2): ids, replay, retry, a keepalive every 30 s, bounded backlog.
 * Throws RATE_LIMITED when the client has too many streams.
 */
export const eventStream = (options: EventStreamOptions): Response => {
  let client: Client | undefined
  const release = options.hold?.(() => client?.end()) ?? ((): void => {})
  const body = new StreamBody(() => client?.dispose())
  client = new Client(body, options, release)
  return streamAnswer(body, { 'content-type': 'text/event-stream' })
}

/** One client of an event stream, from its request until either side ends it. */
class Client {
  readonly #body: StreamBody
  readonly #options: EventStreamOptions
  readonly #release: () => void
  readonly #keepalive: ReturnType<typeof setInterval>
  #unsubscribe = (): void => {}
  #open = true
  /** Bytes of replay and status; each is bounded and sent once. */
  #catchUpBytes = 0
  #statusSent: boolean
  /** Events that wait for the status; undefined when none has to wait. */
  #early: ApiEvent[] | undefined

  constructor(body: StreamBody, options: EventStreamOptions, release: () => void) {
    this.#body = body
    this.#options = options
    this.#release = release
    this.#statusSent = options.status === undefined
    this.#keepalive = setInterval(() => this.#onKeepalive(), KEEPALIVE_MS)
    options.signal.addEventListener('abort', this.end)
    this.#write(RETRY)
    this.#sendAll(options.feed.missedSince(options.lastEventId, options.filter))
    if (options.signal.aborted) this.end()
    if (!this.#open) return
    this.#unsubscribe = options.feed.subscribe({ onEvent: (event) => this.#onEvent(event), onEnd: this.end })
    if (!this.#statusSent) void this.#sendStatus()
  }

  /** Removes every timer and listener. */
  dispose(): void {
    this.#open = false
    clearInterval(this.#keepalive)
    this.#release()
    this.#unsubscribe()
    this.#options.signal.removeEventListener('abort', this.end)
  }

  /** Sends what is queued, then ends the stream. */
  readonly end = (): void => {
    if (!this.#open) return
    this.dispose()
    this.#body.end()
  }

  /** Discards what is unread, together with the connection. */
  #disconnect(): void {
    this.dispose()
    this.#body.abort(new Error('The client does not read its events'))
  }

  #onEvent(event: ApiEvent): void {
    if (!this.#options.filter(event)) return
    if (this.#early === undefined) this.#send(event)
    else if (this.#early.push(event) > MAX_EARLY) this.#disconnect()
  }

  #onKeepalive(): void {
    this.#write(KEEPALIVE)
    if (!this.#statusSent && this.#early === undefined) void this.#sendStatus()
  }

  async #sendStatus(): Promise<void> {
    this.#early = []
    // Engine or database may be unavailable; their events come as usual once they are back.
    const status = await this.#options.status?.().catch(() => undefined)
    const early = this.#early
    this.#early = undefined
    this.#sendAll(early)
    if (status === undefined || !this.#open) return
    this.#statusSent = true
    this.#sendAll(status())
  }

  #send(event: ApiEvent): void {
    this.#write(encoded(event))
    if (this.#options.isLast?.(event) === true) this.end()
  }

  /** Not counted towards the backlog, so that a client with much to replay can catch up. */
  #sendAll(events: readonly ApiEvent[]): void {
    const { isLast } = this.#options
    const last = isLast === undefined ? -1 : events.findIndex(isLast)
    const sent = last < 0 ? events : events.slice(0, last + 1)
    if (sent.length > 0) {
      const bytes = encoder.encode(sent.map(toText).join(''))
      this.#catchUpBytes += bytes.length
      this.#write(bytes)
    }
    if (last >= 0) this.end()
  }

  #write(bytes: Uint8Array): void {
    if (!this.#open) return
    if (this.#body.waiting - this.#catchUpBytes >= MAX_BACKLOG_BYTES) this.#disconnect()
    else this.#body.write(bytes)
  }
}

/** Each event is encoded once for all clients. */
const encodings = new WeakMap<ApiEvent, Uint8Array>()

const encoded = (event: ApiEvent): Uint8Array => {
  const known = encodings.get(event)
  if (known !== undefined) return known
  const bytes = encoder.encode(toText(event))
  encodings.set(event, bytes)
  return bytes
}

const toText = ({ id, event, data }: ApiEvent): string => `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
