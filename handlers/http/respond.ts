import { type ApiError, errorBody } from '../../lib/errors.ts'
import { redact } from '../../lib/redact.ts'

/** Answers hold the state of a moment, sometimes addresses of cameras: nobody keeps them, and no browser guesses at them. */
const NO_STORE = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

/** A JSON answer. */
export const json = (body: unknown, status = 200, headers: Readonly<Record<string, string>> = NO_STORE): Response =>
  Response.json(body, { status, headers: headers === NO_STORE ? NO_STORE : { ...NO_STORE, ...headers } })

/** 204. */
export const noContent = (): Response => new Response(null, { status: 204, headers: NO_STORE })

/** The one shape of an error answer. */
export const errorResponse = (error: ApiError): Response => {
  const { message, code, details } = errorBody(error)
  return json({ message: redact(message), code, details: redactAll(details) }, error.status, headersOf(error))
}

/** Seconds after which a service that was unavailable is worth another try. */
const RETRY_SECONDS = 1

const headersOf = ({ code, details }: ApiError): Record<string, string> => {
  if (code === 'UNAUTHORIZED') return { 'www-authenticate': 'Bearer' }
  // What is left of the body is not read, so nothing else can come over this connection.
  if (code === 'PAYLOAD_TOO_LARGE') return { connection: 'close' }
  if (code === 'METHOD_NOT_ALLOWED' && Array.isArray(details.allow)) return { allow: details.allow.join(', ') }
  if (code !== 'RATE_LIMITED' && code !== 'SERVICE_UNAVAILABLE') return {}
  const seconds = typeof details.retry_after_seconds === 'number' ? details.retry_after_seconds : RETRY_SECONDS
  return { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }
}

const redactAll = (value: unknown): unknown => {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map(redactAll)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, redactAll(inner)]))
}
