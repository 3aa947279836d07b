import { RESOURCE_POLICY } from './respond.ts'
import type { FetchHandler } from './route.ts'

/** The request header fields that a page may send, and the response header fields that it may read. */
const REQUEST_HEADERS = 'authorization, content-type, x-api-key, last-event-id, if-match, if-none-match'
const RESPONSE_HEADERS = 'location, retry-after, allow, etag, age, link, x-request-id, x-created-at, x-age-ms'
const PREFLIGHT_SECONDS = '600'

/**
 * Lets pages of the listed origins call the API (CORS protocol of the fetch standard). Other origins get no such header,
 * so their pages cannot read answers. Credentials are header fields, never cookies.
 */
export const withCors = (handle: FetchHandler, origins: readonly string[]): FetchHandler => {
  const allowed = new Set(origins)
  return async (request, context) => {
    const origin = request.headers.get('origin')
    const response = await handle(request, context)
    if (origin === null || !allowed.has(origin)) return ownAnswer(response)
    return isPreflight(request) ? preflightAnswer(response, origin) : readableAnswer(response, origin)
  }
}

const isPreflight = ({ method, headers }: Request): boolean => method === 'OPTIONS' && headers.has('access-control-request-method')

// The router answers OPTIONS with 405 and lists the methods of the path in Allow.
const preflightAnswer = (response: Response, origin: string): Response => {
  const methods = response.headers.get('allow')
  if (methods === null) return readableAnswer(response, origin)
  const headers = {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': REQUEST_HEADERS,
    'access-control-max-age': PREFLIGHT_SECONDS,
    vary: 'origin',
  }
  return new Response(null, { status: 204, headers })
}

/** Also media, which the makers of ready answers do not make. */
const ownAnswer = (response: Response): Response => {
  for (const [name, value] of Object.entries(RESOURCE_POLICY)) response.headers.set(name, value)
  return response
}

const readableAnswer = (response: Response, origin: string): Response => {
  const headers = new Headers(response.headers)
  for (const name of Object.keys(RESOURCE_POLICY)) headers.delete(name)
  headers.set('access-control-allow-origin', origin)
  headers.set('access-control-expose-headers', RESPONSE_HEADERS)
  headers.append('vary', 'origin')
  return new Response(response.body, { status: response.status, headers })
}
