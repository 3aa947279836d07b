import type { ApiEvent, EventFeed, EventFilter } from '../../lib/events/feed.ts'
import type { Greeting } from '../../lib/events/hub.ts'

/** Milliseconds a client waits before it connects again; sent once. */
const RETRY_MS = 2000
const KEEPALIVE_MS = 30_000
/** A client that has this much unread is cut off; it comes back and replays what it missed. */
const MAX_BACKLOG_BYTES = 1024 * 1024
/** Events that may come while the first status is still asked for. */
const MAX_EARLY = 1000

const encoder = new TextEncoder()
const KEEPALIVE = encoder.encode(': keepalive\n\n')
const RETRY = encoder.encode(`retry: ${RETRY_MS}\n\n`)

export interface EventStreamOptions {
  readonly feed: Pick<EventFeed, 'subscribe' | 'missedSince'>
  readonly filter: EventFilter
  /** What the client has seen last (`Last-Event-ID`). */
  readonly lastEventId: string | null
  /** Sent as soon as it is known, after what was missed. A failed one is asked for again with each keepalive. */
  readonly greet?: (() => Promise<Greeting>) | undefined
  /** The event after which the stream ends. */
  readonly isLast?: (event: ApiEvent) => boolean
  /** The client went away. */
  readonly signal: AbortSignal
  /** As of the request's context: an error of the stream is not seen by who waits for the client to read. */
  readonly disconnect?: (() => void) | undefined
}

/** An answer of Server-Sent Events (WHATWG HTML section 9.2): ids, replay, retry, a keepalive every 30 s, bounded backlog. */
export const eventStream = (options: EventStreamOptions): Response => {
  let client: Client | undefined
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        client = new Client(controller, options)
      },
      cancel() {
        client?.forget()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_BACKLOG_BYTES }),
  )
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  })
}

/** One client that follows events, from its request until either side ends it. */
class Client {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>
  readonly #options: EventStreamOptions
  readonly #keepalive: ReturnType<typeof setInterval>
  #unsubscribe = (): void => {}
  #open = true
  /** Replay and greeting: each is bounded and comes once. */
  #catchUpBytes = 0
  #greeted: boolean
  /** Events that wait for the greeting; undefined when nothing waits. */
  #early: ApiEvent[] | undefined

  constructor(controller: ReadableStreamDefaultController<Uint8Array>, options: EventStreamOptions) {
    this.#controller = controller
    this.#options = options
    this.#greeted = options.greet === undefined
    this.#keepalive = setInterval(() => this.#onKeepalive(), KEEPALIVE_MS)
    options.signal.addEventListener('abort', this.#end)
    this.#write(RETRY)
    this.#sendAll(options.feed.missedSince(options.lastEventId, options.filter))
    if (options.signal.aborted) this.#end()
    if (!this.#open) return
    this.#unsubscribe = options.feed.subscribe({ onEvent: (event) => this.#onEvent(event), onEnd: this.#end })
    if (!this.#greeted) void this.#greet()
  }

  /** Leaves nothing behind: no timer, no listener. */
  forget(): void {
    this.#open = false
    clearInterval(this.#keepalive)
    this.#unsubscribe()
    this.#options.signal.removeEventListener('abort', this.#end)
  }

  readonly #end = (): void => {
    if (!this.#open) return
    this.forget()
    this.#controller.close()
  }

  /** What is unread is thrown away with the connection. */
  #cut(): void {
    this.forget()
    this.#controller.error(new Error('The client does not read its events'))
    this.#options.disconnect?.()
  }

  #onEvent(event: ApiEvent): void {
    if (!this.#options.filter(event)) return
    if (this.#early === undefined) this.#send(event)
    else if (this.#early.push(event) > MAX_EARLY) this.#cut()
  }

  #onKeepalive(): void {
    this.#write(KEEPALIVE)
    if (!this.#greeted && this.#early === undefined) void this.#greet()
  }

  async #greet(): Promise<void> {
    this.#early = []
    // Engine or database may be away: what they tell when they are back comes like any other event.
    const greeting = await this.#options.greet?.().catch(() => undefined)
    const early = this.#early
    this.#early = undefined
    this.#sendAll(early)
    if (greeting === undefined || !this.#open) return
    this.#greeted = true
    this.#sendAll(greeting())
  }

  #send(event: ApiEvent): void {
    this.#write(encoded(event))
    if (this.#options.isLast?.(event) === true) this.#end()
  }

  /** On top of the backlog that is allowed: else a client with much to replay could never catch up. */
  #sendAll(events: readonly ApiEvent[]): void {
    const { isLast } = this.#options
    const last = isLast === undefined ? -1 : events.findIndex(isLast)
    const sent = last < 0 ? events : events.slice(0, last + 1)
    if (sent.length > 0) {
      const bytes = encoder.encode(sent.map(toText).join(''))
      this.#catchUpBytes += bytes.length
      this.#write(bytes)
    }
    if (last >= 0) this.#end()
  }

  #write(bytes: Uint8Array): void {
    if (!this.#open) return
    if ((this.#controller.desiredSize ?? 0) + this.#catchUpBytes <= 0) this.#cut()
    else this.#controller.enqueue(bytes)
  }
}

/** Each event is encoded once, however many clients follow it. */
const encodings = new WeakMap<ApiEvent, Uint8Array>()

const encoded = (event: ApiEvent): Uint8Array => {
  const known = encodings.get(event)
  if (known !== undefined) return known
  const bytes = encoder.encode(toText(event))
  encodings.set(event, bytes)
  return bytes
}

const toText = ({ id, event, data }: ApiEvent): string => `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
