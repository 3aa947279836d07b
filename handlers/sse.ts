import type { ApiEvent, EventFilter, EventHub } from '../lib/event-hub.ts'

/** Milliseconds a client waits before it connects again; sent once. */
const RETRY_MS = 2000
const KEEPALIVE_MS = 30_000
/** A client that has this much unread is cut off; it comes back and replays what it missed. */
const MAX_BACKLOG_BYTES = 1024 * 1024

const encoder = new TextEncoder()
const KEEPALIVE = encoder.encode(': keepalive\n\n')

export interface EventStreamOptions {
  readonly hub: EventHub
  readonly filter: EventFilter
  /** What the client has seen last (`Last-Event-ID`). */
  readonly lastEventId: string | null
  /** Sent at once, after what was missed. */
  readonly greeting?: () => Promise<ApiEvent | undefined>
  /** The event after which the stream ends. */
  readonly isLast?: (event: ApiEvent) => boolean
  /** Ends the stream: the client went away, or the service stops. */
  readonly signal: AbortSignal
}

/** An answer of Server-Sent Events (WHATWG HTML section 9.2): ids, replay, retry, a keepalive every 30 s, bounded backlog. */
export const eventStream = (options: EventStreamOptions): Response => {
  let close = (): void => {}
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        close = follow(controller, options)
      },
      cancel() {
        close()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_BACKLOG_BYTES }),
  )
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  })
}

const follow = (controller: ReadableStreamDefaultController<Uint8Array>, options: EventStreamOptions): (() => void) => {
  const { hub, filter, lastEventId, greeting, isLast, signal } = options
  let open = true
  let greeted = false
  const early: ApiEvent[] = []
  const close = (): void => {
    if (!open) return
    open = false
    clearInterval(keepalive)
    unsubscribe()
    signal.removeEventListener('abort', close)
    try {
      controller.close()
    } catch {
      // Cancelled by the client: there is nothing left to close.
    }
  }
  const write = (bytes: Uint8Array): void => {
    if (!open) return
    if ((controller.desiredSize ?? 0) <= 0) close()
    else controller.enqueue(bytes)
  }
  const send = (event: ApiEvent): void => {
    write(encoded(event))
    if (isLast?.(event) === true) close()
  }
  const unsubscribe = hub.subscribe((event) => {
    if (!filter(event)) return
    if (greeted) send(event)
    else early.push(event)
  })
  const keepalive = setInterval(() => write(KEEPALIVE), KEEPALIVE_MS)
  signal.addEventListener('abort', close)
  if (signal.aborted) close()

  write(encoder.encode(`retry: ${RETRY_MS}\n\n`))
  for (const event of hub.missedSince(lastEventId, filter)) send(event)
  const greet = async (): Promise<void> => {
    const first = await greeting?.()
    if (first !== undefined) send(first)
    greeted = true
    for (const event of early) send(event)
  }
  // A client whose greeting failed comes back after the retry time and is told then.
  greet().catch(close)
  return close
}

/** Each event is encoded once, however many clients follow it. */
const encodings = new WeakMap<ApiEvent, Uint8Array>()

const encoded = (event: ApiEvent): Uint8Array => {
  const known = encodings.get(event)
  if (known !== undefined) return known
  const bytes = encoder.encode(`id: ${event.id}\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`)
  encodings.set(event, bytes)
  return bytes
}
