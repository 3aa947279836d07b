/** Where the bytes of a stream go. */
export interface ByteOut {
  /** How many of them the client has not taken yet. */
  readonly waiting: number
  write(bytes: Uint8Array): void
  /** Ends after what was written. */
  end(): void
  /** Ends at once; what waits is discarded. */
  abort(reason: Error): void
}

type End = { readonly reason: Error | undefined }

/** The endless streams, with the bodies that a host may take over. */
const endless = new WeakMap<ReadableStream<Uint8Array>, StreamBody | 'read'>()

/**
 * The body of an endless answer. Every host can read it as a stream; one with a cheaper way takes it over with `sendTo`. What is
 * written before waits for either.
 */
export class StreamBody implements ByteOut {
  /** The client has gone. */
  readonly cancel: () => void
  #early: Uint8Array[] = []
  #earlyBytes = 0
  #ended: End | undefined
  #out: ByteOut | undefined

  constructor(onCancel: () => void) {
    this.cancel = onCancel
  }

  get waiting(): number {
    return this.#out?.waiting ?? this.#earlyBytes
  }

  write(bytes: Uint8Array): void {
    if (this.#out === undefined) {
      this.#early.push(bytes)
      this.#earlyBytes += bytes.length
    } else this.#out.write(bytes)
  }

  end(): void {
    if (this.#out === undefined) this.#ended ??= { reason: undefined }
    else this.#out.end()
  }

  abort(reason: Error): void {
    if (this.#out === undefined) this.#ended = { reason }
    else this.#out.abort(reason)
  }

  /** Sends what waits, and from now on all that is written, to `out`. */
  sendTo(out: ByteOut): void {
    this.#out = out
    const early = this.#early
    this.#early = []
    const { reason } = this.#ended ?? {}
    if (reason === undefined) for (const bytes of early) out.write(bytes)
    if (reason !== undefined) out.abort(reason)
    else if (this.#ended !== undefined) out.end()
  }
}

/** Not kept by the body, since a host that takes the body over needs no stream. */
const readableOf = (body: StreamBody): ReadableStream<Uint8Array> => {
  let isRead = false
  const readable = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        if (isRead) return
        isRead = true
        body.sendTo(outOf(controller))
      },
      cancel: body.cancel,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  )
  endless.set(readable, body)
  return readable
}

const outOf = (controller: ReadableStreamDefaultController<Uint8Array>): ByteOut => ({
  get waiting() {
    return -(controller.desiredSize ?? 0)
  },
  write: (bytes) => controller.enqueue(bytes),
  end: () => controller.close(),
  abort: (reason) => controller.error(reason),
})

/** No proxy may gather the pieces of an endless answer, and no cache keep them. */
const HEADERS = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' } as const

/** An answer that goes on until either side ends it; as a ReadableStream, it is read as fast as the client takes it. */
export const streamAnswer = (
  body: StreamBody | ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>> & { readonly 'content-type': string },
  status = 200,
): Response => {
  const readable = body instanceof StreamBody ? readableOf(body) : body
  if (readable === body) endless.set(readable, 'read')
  return new Response(readable, { status, headers: { ...HEADERS, ...headers } })
}

/** For hosts: the stream of an endless answer; undefined for any other answer. */
export const streamOf = ({ body }: Response): StreamBody | ReadableStream<Uint8Array> | undefined => {
  const known = body === null ? undefined : endless.get(body)
  return known === 'read' ? (body ?? undefined) : known
}
