import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

/** What is read in one turn of the event loop: 348 packets of MPEG-TS, which take a millisecond or two. */
const TURN_BYTES = 348 * 188

/** Does work that yields now and then, with a turn for all other sources at each yield. */
export const inTurns = async <Result>(work: Generator<void, Result>): Promise<Result> => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    await setImmediate()
  }
}

/** What a stream gives, in pieces, so that other sources are read between them however much it gives at once. */
export async function* piecesInTurns(stream: Readable | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = TURN_BYTES
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length; ) {
      if (left === 0) {
        await setImmediate()
        left = TURN_BYTES
      }
      const piece = chunk.subarray(at, at + left)
      at += piece.length
      left -= piece.length
      yield piece
    }
  }
}
