/** Every error code of the API and its HTTP status. */
export const ERROR_STATUS = {
  VALIDATION_ERROR: 400,
  UNAUTHORIZED: 401,
  LICENSE_ERROR: 402,
  LICENSE_LIMIT_EXCEEDED: 402,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  CONFLICT: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  UNPROCESSABLE_CONTENT: 422,
  PRECONDITION_REQUIRED: 428,
  RATE_LIMITED: 429,
  ENGINE_ERROR: 500,
  INTERNAL_ERROR: 500,
  NOT_IMPLEMENTED: 501,
  SERVICE_UNAVAILABLE: 503,
  PIPELINE_START_TIMEOUT: 504,
} as const satisfies Record<string, number>

export type ErrorCode = keyof typeof ERROR_STATUS

type ErrorDetails = Readonly<Record<string, unknown>>

const BRAND = Symbol.for('video-pipeline-service.ApiError')

/**
 * A failure that the client sees. `message` says what happened and what to do; neither it nor
 * `details` may hold a credential, a path of the host, SQL or a stack (see `redact`).
 */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails
  readonly [BRAND] = true

  /** Each bundle of the package has its own copy of this class; `instanceof` must accept the errors of all. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value
  }

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ApiError'
    this.code = code
    this.details = details
  }

  get status(): number {
    return ERROR_STATUS[this.code]
  }
}

/** `details.reason` while another program holds the database: nothing was changed. */
export const DATABASE_BUSY = 'database_busy'

/** Whether an error says so. */
export const isDatabaseBusy = (error: unknown): boolean => error instanceof ApiError && error.details.reason === DATABASE_BUSY

/** The shape of every error body: `{ message, code, details }`. */
export const errorBody = (error: ApiError) => ({ message: error.message, code: error.code, details: error.details })

export const isErrorCode = (value: unknown): value is ErrorCode => typeof value === 'string' && Object.hasOwn(ERROR_STATUS, value)

/** Whether a value is an ApiError with this code. */
export const hasCode = (error: unknown, code: ErrorCode): boolean => error instanceof ApiError && error.code === code

/** The message of any thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
