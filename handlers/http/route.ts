import type { Admission } from '../../lib/access/access.ts'
import type { Operation } from '../../lib/openapi/operation.ts'

/** What a host knows about a request in addition to the request itself. */
export interface RequestContext {
  /** IP address of the client; the host has evaluated proxy headers. */
  readonly clientAddress?: string
  /** Appears in the log and in the answer to an internal error. */
  readonly requestId?: string
  /** Closes the connection at once and discards what the client has not read. */
  readonly disconnect?: () => void
  /** Keeps a worker alive for work after the answer. */
  readonly waitUntil?: (work: Promise<unknown>) => void
}

/** One request as a route's handler sees it. */
export interface Exchange {
  readonly request: Request
  readonly url: URL
  /** Decoded path parameters. */
  readonly params: Readonly<Record<string, string>>
  readonly context: RequestContext
  /** What the request was admitted by. */
  readonly admission: Admission
  /** Arrival, monotonic milliseconds. */
  readonly began: number
}

export type { Access } from '../../lib/openapi/operation.ts'

/** One operation of the API, for the router, the guard and the API document. */
export interface Route extends Operation {
  readonly handle: (exchange: Exchange) => Response | Promise<Response>
}

export type FetchHandler = (request: Request, context?: RequestContext) => Promise<Response>
