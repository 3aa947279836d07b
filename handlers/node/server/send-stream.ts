import type { ServerResponse } from 'node:http'
import { type ByteOut, StreamBody } from '../../http/streams/stream-body.ts'

/**
 * Sends an endless answer, until either side ends it. The adapter would keep a promise for each piece sent, which grows for as long as
 * the client stays.
 */
export const sendStream = (
  { status, headers }: Response,
  stream: StreamBody | ReadableStream<Uint8Array>,
  response: ServerResponse,
): void => {
  response.on('error', closeFollows)
  if (response.closed) {
    cancel(stream)
    return
  }
  response.writeHead(status, Object.fromEntries(headers)).flushHeaders()
  response.on('close', () => cancel(stream))
  if (stream instanceof StreamBody) stream.sendTo(outOf(response))
  else void pump(stream, response)
}

const cancel = (stream: StreamBody | ReadableStream<Uint8Array>): void => {
  if (stream instanceof StreamBody) stream.cancel()
  else if (!stream.locked) void stream.cancel().catch(() => {})
}

const closeFollows = (): void => {}

const outOf = (response: ServerResponse): ByteOut => ({
  get waiting() {
    return response.writableLength
  },
  write(bytes) {
    if (!response.destroyed) response.write(bytes)
  },
  end: () => void response.end(),
  abort: () => void response.destroy(),
})

/** Reads no faster than the client does. */
const pump = async (stream: ReadableStream<Uint8Array>, response: ServerResponse): Promise<void> => {
  const reader = stream.getReader()
  response.once('close', () => void reader.cancel().catch(() => {}))
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      if (!response.destroyed && !response.write(piece.value)) await drained(response)
    }
    response.end()
  } catch {
    // The stream broke: the client must not take its part for the whole.
    response.destroy()
  }
}

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
  })
