import { createParser } from 'eventsource-parser'
import { Backoff } from '../../lib/backoff.ts'
import { pause } from '../../lib/pause.ts'
import { ApiError, unexpectedAnswer } from './api-error.ts'

/** An event; its `id` resumes the stream. */
export interface StreamEvent {
  readonly id: string
  readonly event: string
  readonly data: unknown
}

/** A lost stream that is being reopened. */
export interface Reconnect {
  /** An ApiError or what `fetch` threw; undefined when the service ended the stream. */
  readonly error: unknown
  /** Milliseconds until the next attempt. */
  readonly delay_ms: number
}

interface FollowOptions {
  /** Opens the stream after the event with this id. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>
  readonly isLast: (event: StreamEvent) => boolean
  readonly lastEventId: string | undefined
  readonly signal: AbortSignal | undefined
  readonly onConnect: (() => void) | undefined
  readonly onReconnect: ((reconnect: Reconnect) => void) | undefined
}

const MAX_DELAY_SECONDS = 30
/** Upper bound of Retry-After. */
const MAX_RETRY_AFTER_SECONDS = 300
/** Default of the `retry` field, milliseconds. */
const RETRY_MS = 2000
const MIN_RETRY_MS = 100
/** The service sends a comment every 30 s: a longer silence means a dead connection. */
const SILENCE_MS = 75_000
/** An event contains at most a pipeline or a KLV packet. */
const MAX_EVENT_CHARACTERS = 4_194_304

/**
 * The events of a stream. A lost connection is reopened after the last event, so there are no gaps while the service keeps the
 * events. The first attempt may fail; later only a permanent error (401, 403, 404 …) ends the stream.
 */
export async function* follow({
  open,
  isLast,
  signal,
  onConnect,
  onReconnect,
  ...from
}: FollowOptions): AsyncGenerator<StreamEvent, void, undefined> {
  let { lastEventId } = from
  let retryMs = RETRY_MS
  let isConnected = false
  // Randomness is added below, to the first pause too.
  const backoff = new Backoff(() => 0)
  const onRetry = (ms: number): void => {
    retryMs = Math.max(MIN_RETRY_MS, ms)
  }
  for (;;) {
    const connection = new Connection(signal)
    let failure: unknown
    try {
      const body = streamOf(await open(lastEventId, connection.signal))
      isConnected = true
      onConnect?.()
      for await (const event of connection.events(body, onRetry)) {
        backoff.reset()
        lastEventId = event.id || lastEventId
        yield event
        if (isLast(event)) return
      }
    } catch (error) {
      failure = error
    } finally {
      connection.close()
    }
    signal?.throwIfAborted()
    failure = connection.reason ?? failure
    if (failure !== undefined && (!isConnected || isFinal(failure))) throw failure
    const wait = backoff.next({ initial_delay_ms: retryMs, max_delay_seconds: MAX_DELAY_SECONDS })
    const requested = failure instanceof ApiError ? Math.min(failure.retryAfter ?? 0, MAX_RETRY_AFTER_SECONDS) * 1000 : 0
    // Clients that lost their streams together must not reconnect together.
    const delay_ms = Math.round(Math.max(requested, wait * (0.5 + Math.random() / 2)))
    onReconnect?.({ error: failure, delay_ms })
    await pause(delay_ms, signal)
    signal?.throwIfAborted()
  }
}

/** Rate limits and timeouts are temporary. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 425, 429])

const isFinal = (error: unknown): boolean =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && !TEMPORARY.has(error.status)

const streamOf = (response: Response): ReadableStream<Uint8Array> => {
  if (response.body !== null && (response.headers.get('content-type') ?? '').startsWith('text/event-stream')) return response.body
  throw unexpectedAnswer(response, 'The answer is not an event stream')
}

/** One connection of a stream. */
class Connection {
  readonly #controller = new AbortController()
  readonly #caller: AbortSignal | undefined
  #silence: ReturnType<typeof setTimeout> | undefined
  #reason: Error | undefined

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller
    if (caller?.aborted === true) this.#abort()
    else caller?.addEventListener('abort', this.#abort)
    this.#listen()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Why this side ended the connection. */
  get reason(): Error | undefined {
    return this.#reason
  }

  async *events(body: ReadableStream<Uint8Array>, onRetry: (ms: number) => void): AsyncGenerator<StreamEvent, void, undefined> {
    const received: StreamEvent[] = []
    const parser = createParser({
      onEvent: ({ id = '', event = 'message', data }) => void received.push({ id, event, data: JSON.parse(data) }),
      onRetry,
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw error
      },
      maxBufferSize: MAX_EVENT_CHARACTERS,
    })
    const decoder = new TextDecoder()
    const reader = body.getReader()
    // For a custom `fetch` that ignores its signal.
    const cancel = (): void => void reader.cancel().catch(() => {})
    this.signal.addEventListener('abort', cancel)
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        this.#listen()
        parser.feed(decoder.decode(value, { stream: true }))
        yield* received.splice(0)
      }
    } finally {
      cancel()
    }
  }

  close(): void {
    clearTimeout(this.#silence)
    this.#caller?.removeEventListener('abort', this.#abort)
    // The service need not send more.
    this.#controller.abort()
  }

  readonly #abort = (): void => this.#controller.abort(this.#caller?.reason)

  #listen(): void {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => {
      this.#reason = new Error(`No data for ${SILENCE_MS / 1000} s`)
      this.#controller.abort(this.#reason)
    }, SILENCE_MS)
  }
}
