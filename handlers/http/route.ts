import type { Admission } from '../../lib/access/access.ts'
import type { ErrorCode } from '../../lib/errors.ts'
import type { InputOf, LineOf, ResultOf, Row } from '../../lib/openapi/call.ts'
import type { Answer, Body, Fields, Operation } from '../../lib/openapi/operation.ts'

/** What the host adds to a request. */
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
  /** The credential that admitted the request. */
  readonly admission: Admission
  /** Arrival, monotonic milliseconds. */
  readonly began: number
}

export type { Access } from '../../lib/openapi/operation.ts'

/** An answer whose JSON is ready, as text or UTF-8, or is made piece by piece while it is sent. */
export interface ReadyAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array<ArrayBuffer> | Iterable<string | Uint8Array<ArrayBuffer>>
}

/** What a read needs of its request. */
export interface ReadRequest {
  readonly params: Exchange['params']
  readonly url: Pick<URL, 'searchParams'>
}

/** How a route answers. Most reads are frequent, and need neither a Request nor a Response. */
type Answering =
  | { readonly handle: (exchange: Exchange) => Response | Promise<Response>; readonly read?: undefined }
  | { readonly read: (request: ReadRequest) => Promise<ReadyAnswer>; readonly handle?: undefined }

/** One operation of the API, for the router, the guard and the API document. */
export type Route = Operation & Answering

/** A route whose types have what its callers send and get; the types of the client follow from them. */
type CallableRoute<Name extends string, Line extends string, Input extends object, Result> = Route & {
  readonly operation: Name
  /** Never there: only a type. */
  readonly call?: { readonly operation: Name; readonly line: Line; readonly input: Input; readonly result: Result }
}

/** A row of a table of routes. */
export const route = <
  const Method extends Route['method'],
  const Path extends string,
  const Name extends string,
  Answered extends Answer,
  const Code extends ErrorCode,
  Query extends Fields | undefined = undefined,
  const Sent extends Body | undefined = undefined,
  Others extends Readonly<Record<number, Answer>> = Readonly<Record<never, never>>,
>(
  row: Row<Method, Path, Name, Query, Sent, Answered, Others, Code> & Answering,
): CallableRoute<
  Name,
  LineOf<Method, Path, Sent, Answered, Others>,
  InputOf<Path, Query, Sent, Answered, Others, Code>,
  ResultOf<Answered['content']>
> => row as Route & { readonly operation: Name }

export type FetchHandler = (request: Request, context?: RequestContext) => Promise<Response>
