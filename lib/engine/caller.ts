import { ApiError, isErrorCode } from '../errors.ts'
import { type EngineMoment, MOMENT_HEADER, parseMoment } from './moment.ts'

export interface EngineAddress {
  readonly url: string
  readonly token: string
}

interface EngineRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** Sent as JSON unless undefined. */
  readonly body?: unknown
  /** What ends the request and the reading of its answer: a signal, or a time in milliseconds from when it is sent. */
  readonly until: AbortSignal | number
}

/** Sends a request to the engine. Rejects when the engine cannot be reached. */
export type EngineCaller = (request: EngineRequest) => Promise<Response>

export interface EngineCallerOptions {
  /** Where the engine is now; undefined while none is known. */
  readonly address: () => EngineAddress | undefined
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** How far the engine had come when it answered; called before the answer is handed on. */
  readonly onAnswer?: (moment: EngineMoment) => void
}

/** Calls the engine over HTTP with its bearer secret. */
export const createEngineCaller = (options: EngineCallerOptions): EngineCaller => {
  const send = options.fetch ?? fetch
  return async ({ method, path, body, until }) => {
    const address = options.address()
    if (address === undefined) throw engineUnavailable(new Error('no engine is there'))
    // Not as a Request: on Node the signal of one that was garbage-collected reaches its fetch no more.
    const response = await send(new URL(path, address.url).href, {
      method,
      signal: typeof until === 'number' ? AbortSignal.timeout(until) : until,
      headers: { authorization: `Bearer ${address.token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // A redirect would take the secret to another server; the engine sends none.
      redirect: 'manual',
    })
    const moment = parseMoment(response.headers.get(MOMENT_HEADER))
    if (moment !== undefined) options.onAnswer?.(moment)
    return response
  }
}

/** SERVICE_UNAVAILABLE: the engine does not run or does not answer. */
export const engineUnavailable = (cause?: unknown): ApiError =>
  new ApiError(
    'SERVICE_UNAVAILABLE',
    'The media engine is not available right now. Try again in a moment.',
    { reason: 'engine_unavailable' },
    { cause },
  )

/** The ApiError as it is, anything else as SERVICE_UNAVAILABLE. */
export const asEngineError = (error: unknown): ApiError => (error instanceof ApiError ? error : engineUnavailable(error))

/** Whether a call failed because there was no connection to the engine, or no longer: neither answered by it nor given up. */
export const isConnectionLoss = (error: unknown): boolean =>
  error instanceof ApiError && error.details.reason === 'engine_unavailable' && error.cause instanceof Error && !isGivenUp(error.cause)

const isGivenUp = ({ name }: Error): boolean => name === 'TimeoutError' || name === 'ValiError' || name === 'SyntaxError'

/** The error that the engine answered with; SERVICE_UNAVAILABLE when the answer is not one of the engine's. */
export const errorOf = async (response: Response): Promise<ApiError> => {
  const answer: unknown = await response.json()
  const { code, message, details } = (typeof answer === 'object' && answer !== null ? answer : {}) as Record<string, unknown>
  if (!isErrorCode(code) || typeof message !== 'string' || code === 'UNAUTHORIZED' || code === 'INTERNAL_ERROR') return engineUnavailable()
  return new ApiError(code, message, typeof details === 'object' && details !== null ? { ...details } : {})
}
