import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'

/** Connections to one host that can be closed all at once. */
interface EngineConnections {
  fetch(url: string, init: RequestInit): Promise<Response>
  /** Closes every connection, also those that are still being made; their requests reject. */
  drop(): void
}

/** Most connections to the engine at once, as many as the API accepts of its clients; further requests wait. */
const MAX_SOCKETS = 10_000

/**
 * fetch over connections of our own. The runtime's fetch reuses a connection that is still being made when its request is given up:
 * after a cut the next SYN would be up to 8 s away (RFC 6298 section 5.5). It also checks its timeouts twice a second while a stream
 * is open.
 */
export const createEngineConnections = (): EngineConnections => {
  let agents = newAgents()
  const open = new Set<ClientRequest>()
  return {
    fetch: (url, init) =>
      new Promise((resolve, reject) => {
        const secure = new URL(url).protocol === 'https:'
        const { method = 'GET', headers, body, signal } = init
        const request = (secure ? httpsRequest : httpRequest)(url, {
          agent: secure ? agents.https : agents.http,
          method,
          headers: Object.fromEntries(new Headers(headers ?? {})),
          ...(signal && { signal }),
        })
        open.add(request)
        request.once('close', () => open.delete(request))
        request.once('error', reject)
        request.once('response', (answer) => resolve(toResponse(answer)))
        request.end(typeof body === 'string' ? body : undefined)
      }),
    drop() {
      for (const request of open) request.destroy(new Error('The connection to the engine is lost'))
      agents.http.destroy()
      agents.https.destroy()
      agents = newAgents()
    },
  }
}

const newAgents = () => ({
  http: new HttpAgent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
  https: new HttpsAgent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
})

const BODILESS = new Set([204, 304])

const toResponse = (answer: IncomingMessage): Response => {
  const { statusCode: status = 502, headersDistinct } = answer
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) => values.map((value): [string, string] => [name, value]))
  if (!BODILESS.has(status)) return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, { status, headers })
  answer.resume()
  return new Response(null, { status, headers })
}
