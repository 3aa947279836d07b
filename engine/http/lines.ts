import type { ServerResponse } from 'node:http'
import type { LinesCall } from '../../lib/engine/call.ts'
import type { LineSource } from './dispatch.ts'

/**
 * Answers with JSON lines: a heartbeat at once, the events of the source as they come, and a heartbeat at each interval so
 * that both sides notice a dead peer. Ends with the client; one that does not read is cut off.
 */
export const writeLines = (
  response: ServerResponse,
  { heartbeatMs, maxBacklog }: Pick<LinesCall, 'heartbeatMs' | 'maxBacklog'>,
  source: LineSource<unknown>,
  onHeartbeat: () => void,
): void => {
  // The client left before the source was ready: nothing would end this stream, and each heartbeat would count as contact.
  if (response.destroyed) return
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  let begun = false
  const push = (event: unknown): void => {
    begun = true
    if (response.writableEnded || response.destroyed) return
    if (response.writableLength > maxBacklog) response.destroy()
    else response.write(`${JSON.stringify(event)}\n`)
  }
  const beat = (): void => push({ type: 'heartbeat' })
  const unsubscribe = source({ push, end: () => response.end() })
  // A source may begin with a heartbeat of its own.
  if (!begun) beat()
  const heartbeat = setInterval(() => {
    onHeartbeat()
    beat()
  }, heartbeatMs)
  response.on('close', () => {
    clearInterval(heartbeat)
    unsubscribe()
  })
}
