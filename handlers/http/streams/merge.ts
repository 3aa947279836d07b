import { ApiError, errorBody } from '../../../lib/errors.ts'
import { endedRecord, partHeader } from '../../../lib/video-records.ts'

type Pieces = readonly Uint8Array[]
type Open = (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>

/**
 * One stream of the records of several: each chunk becomes a part with the index of its stream. At most one chunk of each waits for the
 * client. A stream that does not open or that ends is an `ended` record; the merged stream ends after all of them.
 */
export const mergeStreams = (opens: readonly Open[], signal: AbortSignal): ReadableStream<Uint8Array> => {
  const queue = new Queue()
  const all = Promise.all(opens.map((open, index) => run(index, open, signal, queue)))
  void all.finally(() => queue.close())
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const pieces = await queue.take()
        for (const piece of pieces) controller.enqueue(piece)
        if (pieces.length === 0) controller.close()
      },
      cancel: () => queue.close(),
    },
    { highWaterMark: 0 },
  )
}

const run = async (index: number, open: Open, signal: AbortSignal, queue: Queue): Promise<void> => {
  try {
    const reader = (await open(signal)).getReader()
    for (;;) {
      const { value, done } = await reader.read()
      if (done || queue.isClosed) break
      await queue.offer([partHeader(index, value.length), value])
    }
    await queue.offer([endedRecord(index, null)])
  } catch (error) {
    // A stream that breaks off has ended; its client asks again.
    await queue.offer([endedRecord(index, error instanceof ApiError ? errorBody(error) : null)])
  }
}

/** Offered pieces, until somebody takes them all. */
class Queue {
  isClosed = false
  #pieces: Uint8Array[] = []
  #changed = Promise.withResolvers<void>()
  #taken = Promise.withResolvers<void>()

  /** Resolves when the pieces are taken. */
  offer(pieces: Pieces): Promise<void> {
    if (this.isClosed) return Promise.resolve()
    this.#pieces.push(...pieces)
    this.#changed.resolve()
    return this.#taken.promise
  }

  /** Resolves with nothing once it is closed and empty. */
  async take(): Promise<Pieces> {
    if (this.#pieces.length === 0 && !this.isClosed) await this.#changed.promise
    const pieces = this.#pieces
    this.#pieces = []
    this.#taken.resolve()
    this.#taken = Promise.withResolvers()
    if (!this.isClosed) this.#changed = Promise.withResolvers()
    return pieces
  }

  /** What is offered later is dropped. */
  close(): void {
    this.isClosed = true
    this.#changed.resolve()
    this.#taken.resolve()
  }
}
