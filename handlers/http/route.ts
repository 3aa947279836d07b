import type { Operation } from '../../lib/openapi/operation.ts'

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

export type { Access } from '../../lib/openapi/operation.ts'

/** One operation of the API. The router, the guard and the API document all read this table. */
export interface Route extends Operation {
  readonly handle: (exchange: Exchange) => Response | Promise<Response>
}

export type FetchHandler = (request: Request, context?: RequestContext) => Promise<Response>
