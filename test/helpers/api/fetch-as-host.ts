import { request as httpRequest, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/** As `fetch`, but sends the Host header of the request, which `fetch` would replace by that of the URL. */
export const fetchAsHost = async (request: Request): Promise<Response> => {
  if (!request.headers.has('host')) return fetch(request)
  const body = Buffer.from(await request.arrayBuffer())
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = httpRequest(request.url, { method: request.method, headers: Object.fromEntries(request.headers), agent: false }, resolve)
    sent.once('error', reject)
    sent.end(body)
  })
  const headers = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const empty = answer.statusCode === 204 || answer.statusCode === 304
  return new Response(empty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>), { status: answer.statusCode ?? 0, headers })
}
