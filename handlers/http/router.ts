import { type IRequest, Router as IttyRouter, type RouteEntry } from 'itty-router'
import type { Admission } from '../../lib/access/access.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Answered } from '../../lib/health/metrics.ts'
import type { Log } from '../../lib/ports.ts'
import { validationError } from '../../lib/validate.ts'
import type { Guard, RequestHead } from './guard.ts'
import { logDatabaseFault, logFault } from './log-fault.ts'
import { refuseUnknownQuery } from './query.ts'
import { methodNotAllowed, pathNotFound, readyError, readyResponse } from './respond.ts'
import type { FetchHandler, ReadyAnswer, RequestContext, Route } from './route.ts'

export type { FetchHandler, RequestContext } from './route.ts'

export interface RouterDeps {
  readonly guard: Guard
  readonly log: Log
  /** Origins whose pages may call the API; none by default. */
  readonly corsOrigins?: readonly string[]
  /** Called for every answer, before its body is sent. */
  readonly onAnswer?: (answered: Answered, context: RequestContext) => void
}

export interface Router {
  readonly fetch: FetchHandler
  /**
   * Answers a request whose route has `read` without a Request and a Response, which cost a host more than the read itself.
   * Undefined: the request is for `fetch`.
   */
  readonly read: (request: RequestHead, path: string, context: RequestContext) => Promise<ReadyAnswer> | undefined
}

/** A request with the route of its method and path. */
interface Call {
  readonly request: RequestHead & Partial<Pick<Request, 'signal'>>
  readonly path: string
  readonly context: RequestContext
  readonly match: Match | undefined
  /** Monotonic milliseconds. */
  readonly began: number
}

/** One that came as a Request. */
interface WholeCall extends Call {
  readonly request: Request
  readonly url: URL
}

interface Match {
  readonly route: Route
  /** Not yet decoded. */
  readonly params: Readonly<Record<string, string>>
}

/**
 * The routes behind the steps of every answer: guard, handler, errors, log and metrics. HEAD works for every GET; a trailing slash is
 * ignored.
 */
export const createRouter = (routes: readonly Route[], deps: RouterDeps): Router => {
  const table: RouteEntry[] = []
  const router = IttyRouter<IRequest, [WholeCall]>({ routes: table })
  const whole = (call: WholeCall): Promise<Response | ReadyAnswer> =>
    answer<Response | ReadyAnswer>(call, table, deps, ({ route, params }, admission) => {
      refuseUnknownQuery(call.url, Object.keys(route.query?.entries ?? {}))
      const exchange = { ...call, admission, params: decodeParams(params) }
      return route.read === undefined ? route.handle(exchange) : route.read(exchange)
    })
  for (const route of routes) {
    router[METHODS[route.method]](route.path, ({ params }, call) => whole({ ...call, match: { route, params } }))
  }
  return {
    fetch: async (request, context = {}) => {
      const isHead = request.method === 'HEAD'
      const url = new URL(request.url)
      const call = { request, url, path: url.pathname, context, match: undefined, began: performance.now() }
      // itty would modify the Request: it gets what it matches alone, and answers nothing where no route fits.
      const matched: Response | ReadyAnswer | undefined = await router.fetch(
        { method: isHead ? 'GET' : request.method, url: request.url },
        call,
      )
      const answered = matched ?? (await whole(call))
      const response = answered instanceof Response ? answered : readyResponse(answered)
      return isHead ? withoutBody(response) : response
    },
    read: (request, path, context) => {
      // A page's request, with an Origin, is for the CORS rules; percent-encoding and a query are for a parser of URLs.
      if (request.method !== 'GET' || request.headers.get('origin') !== null || !PLAIN_PATH.test(path)) return undefined
      const match = findRead(routes, table, path)
      const read = match?.route.read
      if (read === undefined) return undefined
      return answer({ request, path, context, match, began: performance.now() }, table, deps, ({ params }) =>
        read({ params, url: NO_QUERY }),
      )
    },
  }
}

const PLAIN_PATH = /^[\w/-]*$/
const NO_QUERY = { searchParams: new URLSearchParams() }

/** Guards a call, answers it and reports the answer; an error is an answer too. */
const answer = async <T extends Response | ReadyAnswer>(
  call: Call,
  table: readonly RouteEntry[],
  deps: RouterDeps,
  work: (match: Match, admission: Admission) => Promise<T> | T,
): Promise<T | ReadyAnswer> => {
  const { request, context, match, began } = call
  const admitted = async (): Promise<T | ReadyAnswer> => {
    const verdict = await deps.guard(match?.route, { request, context, corsOrigins: deps.corsOrigins ?? [] })
    if ('answer' in verdict) return verdict.answer
    if (match === undefined) throw unmatched(table, call.path)
    return work(match, verdict.admission)
  }
  const answered = await admitted().catch((error: unknown) => errorAnswer(error, call, deps.log))
  const seconds = (performance.now() - began) / 1000
  deps.onAnswer?.({ method: request.method, route: match?.route.path, status: answered.status, seconds }, context)
  return answered
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const

/** The route of a read in the table of the router, without the promise and the parsed URL of its `fetch`. */
const findRead = (routes: readonly Route[], table: readonly RouteEntry[], path: string): Match | undefined => {
  for (const [index, route] of routes.entries()) {
    const found = route.read === undefined ? null : table[index]?.[1].exec(path)
    if (found) return { route, params: found.groups ?? {} }
  }
  return undefined
}

/** 405 with the methods that the path has, or 404. */
const unmatched = (table: readonly RouteEntry[], path: string): ApiError => {
  const methods = new Set(table.filter(([, pattern]) => pattern.test(path)).map(([method]) => method))
  if (methods.size === 0) return pathNotFound()
  return methodNotAllowed([...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))
}

const decodeParams = (raw: Readonly<Record<string, string>>): Record<string, string> => {
  const params: Record<string, string> = {}
  for (const name of Object.keys(raw)) params[name] = decodeParam(name, raw[name] ?? '')
  return params
}

const decodeParam = (name: string, value: string): string => {
  try {
    return decodeURIComponent(value)
  } catch (cause) {
    throw validationError('path', [{ path: name, message: 'The percent-encoding is not valid' }], {}, { cause })
  }
}

/** HEAD (RFC 9110 section 9.3.2): the header fields of GET without content. Ends a stream that has begun. */
const withoutBody = async (response: Response): Promise<Response> => {
  const { status, headers } = response
  await response.body?.cancel()
  return new Response(null, { status, headers })
}

const errorAnswer = (error: unknown, { request, path, context }: Call, log: Log): ReadyAnswer => {
  const failed = { request_id: context.requestId, method: request.method, path }
  if (error instanceof ApiError && error.code !== 'INTERNAL_ERROR') {
    logDatabaseFault(error, failed, log)
    return readyError(error)
  }
  // The client disconnected during its request: not an error.
  if (request.signal?.aborted === true) return { status: 499, headers: {}, body: '' }
  const request_id = context.requestId ?? crypto.randomUUID()
  logFault(error, { ...failed, request_id }, log)
  return readyError(new ApiError('INTERNAL_ERROR', 'The service failed. Search its log for the request id.', { request_id }))
}
