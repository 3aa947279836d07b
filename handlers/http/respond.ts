import { ApiError, errorBody } from '../../lib/errors.ts'
import { pause } from '../../lib/pause.ts'
import { redact } from '../../lib/redact.ts'
import type { ReadyAnswer } from './route.ts'

/** Pages of other origins may not embed an answer (fetch standard), unless CORS allows their origin. */
export const RESOURCE_POLICY = { 'cross-origin-resource-policy': 'same-origin' } as const
/** Answers show a momentary state and may show camera addresses: no cache may keep them, no browser may guess their type. */
const NO_STORE = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...RESOURCE_POLICY } as const

/** A JSON answer. */
export const json = (body: unknown, status?: number, headers?: Readonly<Record<string, string>>): Response =>
  readyResponse(readyJson(body, status, headers))

/** As `json`, for hosts that need no Response. */
export const readyJson = (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): ReadyAnswer => ({
  status,
  headers: readyHeaders(headers),
  body: JSON.stringify(body),
})

/** An XML document. */
export const xml = (document: string): Response => new Response(document, { headers: { ...NO_STORE, 'content-type': 'application/xml' } })

/** The Response of a ready answer. Pieces are made while it is sent, between other work. */
export const readyResponse = ({ body, ...init }: ReadyAnswer): Response => new Response(isWhole(body) ? body : inTurns(body), init)

/** Whether all of a body is there. */
export const isWhole = (body: ReadyAnswer['body']): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' || body instanceof Uint8Array

/** The header fields of an answer with JSON that is ready. */
export const readyHeaders = (more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  ...NO_STORE,
  'content-type': 'application/json',
  ...more,
})

/** A turn of the event loop per piece: promises alone would let nothing else run. */
const inTurns = (pieces: Iterable<string | Uint8Array>): ReadableStream<Uint8Array> => {
  const iterator = pieces[Symbol.iterator]()
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      await pause(0)
      const { done, value } = iterator.next()
      if (done) controller.close()
      else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
    },
  })
}

/** 204. */
export const noContent = (): Response => new Response(null, { status: 204, headers: NO_STORE })

/** An error answer; credentials are masked. */
export const readyError = (error: ApiError): ReadyAnswer => {
  const { message, code, details } = errorBody(error)
  return readyJson({ message: redact(message), code, details: redactAll(details) }, error.status, headersOf(error))
}

export const errorResponse = (error: ApiError): Response => readyResponse(readyError(error))

/** `Retry-After` of SERVICE_UNAVAILABLE without a time of its own, seconds. */
const RETRY_SECONDS = 1

const headersOf = ({ code, details }: ApiError): Record<string, string> => {
  if (code === 'UNAUTHORIZED') return { 'www-authenticate': 'Bearer' }
  // The rest of the body stays unread, so the connection cannot be used again.
  if (code === 'PAYLOAD_TOO_LARGE') return { connection: 'close' }
  if (code === 'METHOD_NOT_ALLOWED' && Array.isArray(details.allow)) return { allow: details.allow.join(', ') }
  if (code !== 'RATE_LIMITED' && code !== 'SERVICE_UNAVAILABLE') return {}
  const seconds = typeof details.retry_after_seconds === 'number' ? details.retry_after_seconds : RETRY_SECONDS
  return { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }
}

/** 404 for a path that no route has. */
export const pathNotFound = () => new ApiError('NOT_FOUND', 'This path does not exist. Check it against the API document.')

/** 405 with the methods that the path has. */
export const methodNotAllowed = (allow: readonly string[]) =>
  new ApiError('METHOD_NOT_ALLOWED', `Method not allowed; use ${inWords(allow)}.`, { allow })

const inWords = (names: readonly string[]): string => [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' or ')

const redactAll = (value: unknown): unknown => {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map(redactAll)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, redactAll(inner)]))
}
