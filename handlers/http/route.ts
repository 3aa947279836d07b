import type { ErrorCode } from '../../lib/errors.ts'
import type { RateLimit } from '../../lib/rate-limit.ts'

/** What a host knows about a request beside the request itself. */
export interface RequestContext {
  /** IP address of the client, after the host has judged proxy headers. */
  readonly clientAddress?: string
  /** Appears in the log and in the answer to an internal error. */
  readonly requestId?: string
  /** Ends the connection at once: the client gets nothing of what it has not read. */
  readonly disconnect?: () => void
  /** Keeps a worker alive for work that outlives the answer. */
  readonly waitUntil?: (work: Promise<unknown>) => void
}

/** One request as a route's handler sees it. */
export interface Exchange {
  readonly request: Request
  readonly url: URL
  /** Decoded path parameters. */
  readonly params: Readonly<Record<string, string>>
  readonly context: RequestContext
  /** When it came, monotonic milliseconds. */
  readonly began: number
}

/**
 * public: nobody is asked. session: a session token or the API key, while a password is set.
 * api_key: the API key, always.
 */
export type Access = 'public' | 'session' | 'api_key'

/** One operation of the API. The router, the guard and the API document all read this table. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with `:name` for a parameter. */
  readonly path: string
  readonly access: Access
  readonly limit?: RateLimit
  /** Unique name of the operation in the API document. */
  readonly operation: string
  readonly summary: string
  /** Status of a success. */
  readonly status: number
  /** The errors beyond UNAUTHORIZED, RATE_LIMITED and INTERNAL_ERROR that this operation answers. */
  readonly errors: readonly ErrorCode[]
  readonly handle: (exchange: Exchange) => Response | Promise<Response>
}

export type FetchHandler = (request: Request, context?: RequestContext) => Promise<Response>
