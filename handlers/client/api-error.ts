import type { ErrorCode } from '../../lib/errors.ts'

/** A code of the API; UNEXPECTED_ANSWER when something else answered, such as a proxy. */
export type ApiErrorCode = ErrorCode | 'UNEXPECTED_ANSWER'

/** The service refused or failed. Network errors are thrown as `fetch` throws them. */
export class ApiError extends Error {
  readonly code: ApiErrorCode
  /** HTTP status. */
  readonly status: number
  /** Depends on `code`; see the API document. */
  readonly details: Readonly<Record<string, unknown>>
  /** Of the answer, as in the log of the service. */
  readonly requestId: string | undefined
  /** Seconds to wait before the next try, when the answer has Retry-After. */
  readonly retryAfter: number | undefined

  constructor(response: Response, { code, message, details }: ErrorFields) {
    super(message)
    this.name = 'ApiError'
    this.code = code
    this.status = response.status
    this.details = details
    this.requestId = response.headers.get('x-request-id') ?? undefined
    this.retryAfter = retryAfterOf(response)
  }
}

interface ErrorFields {
  readonly code: ApiErrorCode
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

/** Machine-readable cause of an error of the API, such as `not_playing`. */
export const reasonOf = (error: unknown): string | undefined => {
  const reason = error instanceof ApiError ? error.details.reason : undefined
  return typeof reason === 'string' ? reason : undefined
}

/** A field of a request with a mistake, by its path such as `source.uri`. */
interface Issue {
  readonly path: string
  readonly message: string
}

/** The fields that the API refused. */
export const issuesOf = (error: unknown): readonly Issue[] =>
  error instanceof ApiError && Array.isArray(error.details.issues) ? (error.details.issues as readonly Issue[]) : []

/** The error in the body of an answer. */
export const toApiError = (response: Response, body: unknown): ApiError => new ApiError(response, fieldsOf(response, body))

/** The error for an answer that does not come from this API. */
export const unexpectedAnswer = (response: Response, problem: string): ApiError =>
  new ApiError(response, {
    code: 'UNEXPECTED_ANSWER',
    message: `${problem}. Check that the URL leads to a video pipeline service.`,
    details: {},
  })

const fieldsOf = (response: Response, body: unknown): ErrorFields => {
  if (isObject(body)) {
    const { code, message, details, error } = body
    if (typeof code === 'string' && typeof message === 'string')
      return { code: code as ErrorCode, message, details: isObject(details) ? details : {} }
    // The triggers answer a wrong key in another format.
    if (error === 'Unauthorized') return { code: 'UNAUTHORIZED', message: 'The API key is missing or wrong.', details: {} }
  }
  return unexpectedAnswer(response, `The answer is ${response.status} ${response.statusText}`.trim())
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null

/** Seconds or a date (RFC 9110 section 10.2.3). */
const retryAfterOf = ({ headers }: Response): number | undefined => {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}
