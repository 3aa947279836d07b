import type { ErrorCode } from '../../lib/errors.ts'

/** A code of the API, or UNEXPECTED_ANSWER: what answered is not this API, such as a proxy in front of it. */
export type ApiErrorCode = ErrorCode | 'UNEXPECTED_ANSWER'

/** The service refused or failed. What keeps a request from reaching it is thrown as `fetch` throws it. */
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

/** The error in the body of an answer. */
export const toApiError = (response: Response, body: unknown): ApiError => new ApiError(response, fieldsOf(response, body))

/** The error for an answer that is none of this API. */
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
    // The triggers answer a wrong key in a shape of their own.
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
