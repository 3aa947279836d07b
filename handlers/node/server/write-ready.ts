import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isWhole } from '../../http/respond.ts'
import type { ReadyAnswer } from '../../http/route.ts'

/**
 * Writes an answer that is ready; in pieces, with a turn of the event loop for each, and no faster than the client reads. All header
 * fields go to writeHead at once, so that Node keeps none of them.
 */
export const writeReady = async (
  response: ServerResponse,
  { status, headers, body }: ReadyAnswer,
  more: Readonly<Record<string, string>>,
): Promise<void> => {
  if (isWhole(body)) {
    response.writeHead(status, { ...more, ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
    return
  }
  response.writeHead(status, { ...more, ...headers })
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  for (const piece of body) {
    if (closed.signal.aborted) return
    // The client may go while it is waited for.
    if (!response.write(piece)) await once(response, 'drain', { signal: closed.signal }).catch(() => {})
    await nextTurn()
  }
  response.end()
}
