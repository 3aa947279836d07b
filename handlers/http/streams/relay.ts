import type { Streams } from '../../../lib/access/streams.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { Exchange } from '../route.ts'
import { streamAnswer } from './stream-body.ts'

/** A client that takes nothing for this long is disconnected, milliseconds: as a reader over RTSP. */
const STALLED_MS = 10_000

/**
 * Answers with a stream of the engine, chunk by chunk as the client reads: nothing is buffered here. Ends with the stream, with the
 * client's session, or when the client stalls. Throws RATE_LIMITED, and the error of `open`.
 */
export const relayStream = async (
  { request, context, admission }: Exchange,
  { streams, contentType }: { readonly streams: Streams; readonly contentType: string },
  open: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>,
): Promise<Response> => {
  const upstream = new AbortController()
  let relay: Relay | undefined
  let hasEnded = false
  const release = streams.open({ admission, clientAddress: context.clientAddress }, () => {
    hasEnded = true
    // A stream may take as long to open as a pipeline to start.
    if (relay === undefined) upstream.abort()
    else relay.end()
  })
  const leave = (): void => {
    request.signal.removeEventListener('abort', leave)
    upstream.abort()
    release()
  }
  request.signal.addEventListener('abort', leave)
  if (request.signal.aborted) leave()
  try {
    relay = new Relay(await open(upstream.signal), leave, context.disconnect)
  } catch (error) {
    leave()
    throw hasEnded ? sessionEnded() : error
  }
  return streamAnswer(relay.body, { 'content-type': contentType, 'x-content-type-options': 'nosniff' })
}

const sessionEnded = (): ApiError => new ApiError('UNAUTHORIZED', 'The session ended before the stream began. Log in for another one.')

/** One stream from the engine to a client. */
class Relay {
  readonly body: ReadableStream<Uint8Array>
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #leave: () => void
  readonly #disconnect: (() => void) | undefined
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #stalled: ReturnType<typeof setTimeout> | undefined
  #open = true

  constructor(source: ReadableStream<Uint8Array>, leave: () => void, disconnect: (() => void) | undefined) {
    this.#reader = source.getReader()
    this.#leave = leave
    this.#disconnect = disconnect
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller as ReadableStreamDefaultController<Uint8Array>
        },
        pull: () => this.#pull(),
        cancel: () => void this.#close(),
      },
      { highWaterMark: 0 },
    )
  }

  /** Ends the answer in order. */
  end(): void {
    if (!this.#close()) return
    this.#controller?.close()
  }

  async #pull(): Promise<void> {
    clearTimeout(this.#stalled)
    const { value, done } = await this.#reader.read().catch(() => ({ value: undefined, done: true }))
    if (!this.#open) return
    if (done || value === undefined) this.end()
    else {
      this.#controller?.enqueue(value)
      this.#stalled = setTimeout(() => this.#drop(), STALLED_MS)
    }
  }

  #drop(): void {
    if (!this.#close()) return
    this.#controller?.error(new Error('The client does not read its video'))
    this.#disconnect?.()
  }

  #close(): boolean {
    if (!this.#open) return false
    this.#open = false
    clearTimeout(this.#stalled)
    this.#leave()
    return true
  }
}
