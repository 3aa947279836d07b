import type { FetchHandler } from './route.ts'

/** The request header fields that a page may send, and the answer's that it may read. */
const SENT = 'authorization, content-type, x-api-key, last-event-id, if-none-match'
const READ = 'location, retry-after, allow, etag, age, link, x-request-id'
const PREFLIGHT_SECONDS = '600'

/**
 * Lets pages of the origins listed call the API (the fetch standard's CORS protocol); every other origin gets
 * no such header, so a browser keeps the answer from it. Credentials are header fields, never cookies.
 */
export const withCors = (handle: FetchHandler, origins: readonly string[]): FetchHandler => {
  const allowed = new Set(origins)
  return async (request, context) => {
    const origin = request.headers.get('origin')
    if (origin === null || !allowed.has(origin)) return handle(request, context)
    const response = await handle(request, context)
    return isPreflight(request) ? preflightAnswer(response, origin) : readableAnswer(response, origin)
  }
}

const isPreflight = ({ method, headers }: Request): boolean => method === 'OPTIONS' && headers.has('access-control-request-method')

// The router knows which methods an address has: it answers OPTIONS with 405 and says so in Allow.
const preflightAnswer = (response: Response, origin: string): Response => {
  const methods = response.headers.get('allow')
  if (methods === null) return readableAnswer(response, origin)
  const headers = {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': SENT,
    'access-control-max-age': PREFLIGHT_SECONDS,
    vary: 'origin',
  }
  return new Response(null, { status: 204, headers })
}

const readableAnswer = (response: Response, origin: string): Response => {
  const headers = new Headers(response.headers)
  headers.set('access-control-allow-origin', origin)
  headers.set('access-control-expose-headers', READ)
  headers.append('vary', 'origin')
  return new Response(response.body, { status: response.status, headers })
}
