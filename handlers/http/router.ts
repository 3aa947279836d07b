import { type IRequest, type RouteEntry, Router } from 'itty-router'
import { ApiError } from '../../lib/errors.ts'
import type { Answered } from '../../lib/health/metrics.ts'
import type { Log } from '../../lib/ports.ts'
import { validationError } from '../../lib/validate.ts'
import type { Guard } from './guard.ts'
import { logDatabaseFault, logFault } from './log-fault.ts'
import { refuseUnknownQuery } from './query.ts'
import { errorResponse, methodNotAllowed, pathNotFound } from './respond.ts'
import type { FetchHandler, RequestContext, Route } from './route.ts'

export type { FetchHandler, RequestContext } from './route.ts'

export interface RouterDeps {
  readonly guard: Guard
  readonly log: Log
  /** Origins whose pages may call the API; none by default. */
  readonly corsOrigins?: readonly string[]
  /** Called for every answer, before its body is sent. */
  readonly onAnswer?: (answered: Answered, context: RequestContext) => void
}

/** Passed along with the object that itty matches, because itty would modify the Request. */
interface Call {
  readonly request: Request
  readonly context: RequestContext
  /** Monotonic milliseconds. */
  readonly began: number
}

/**
 * The routes behind one fetch handler: guard, handler, then the steps of every answer. HEAD works for every GET; a
 * trailing slash is ignored.
 */
export const createRouter = (routes: readonly Route[], deps: RouterDeps): FetchHandler => {
  const table: RouteEntry[] = []
  const router = Router<IRequest, [Call]>({
    routes: table,
    catch: (error: unknown, _matched: unknown, call: Call) => toResponse(error, call, deps.log),
    finally: [
      (response: Response | undefined, _matched: unknown, call: Call) => response ?? answerUnmatched(table, call, deps),
      (response: Response, _matched: unknown, { request }: Call) => (request.method === 'HEAD' ? withoutBody(response) : response),
      (response: Response, { route }: IRequest, { request, context, began }: Call) => {
        const seconds = (performance.now() - began) / 1000
        deps.onAnswer?.({ method: request.method, route, status: response.status, seconds }, context)
      },
    ],
  })
  for (const route of routes) {
    router[METHODS[route.method]](route.path, ({ params }, call) => dispatch(route, params, call, deps))
  }
  return async (request, context = {}) => {
    const method = request.method === 'HEAD' ? 'GET' : request.method
    return router.fetch({ method, url: request.url }, { request, context, began: performance.now() })
  }
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const

const dispatch = async (route: Route, params: Readonly<Record<string, string>>, call: Call, deps: RouterDeps): Promise<Response> => {
  const verdict = await deps.guard(route, arrivalOf(call, deps))
  if ('answer' in verdict) return verdict.answer
  const url = new URL(call.request.url)
  refuseUnknownQuery(url, Object.keys(route.query?.entries ?? {}))
  return route.handle({ ...call, ...verdict, url, params: decodeParams(params) })
}

const arrivalOf = ({ request, context }: Call, { corsOrigins = [] }: RouterDeps) => ({ request, context, corsOrigins })

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

/** 404 or 405, for those who may call at all. */
const answerUnmatched = async (table: readonly RouteEntry[], call: Call, deps: RouterDeps): Promise<Response> => {
  try {
    await deps.guard(undefined, arrivalOf(call, deps))
    return errorResponse(unmatched(table, call))
  } catch (error) {
    return toResponse(error, call, deps.log)
  }
}

/** 405 with the methods that the path has, or 404. */
const unmatched = (table: readonly RouteEntry[], { request: { url } }: Call): ApiError => {
  const { pathname } = new URL(url)
  const methods = new Set(table.filter(([, pattern]) => pattern.test(pathname)).map(([method]) => method))
  if (methods.size === 0) return pathNotFound()
  return methodNotAllowed([...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))
}

/** HEAD (RFC 9110 section 9.3.2): the header fields of GET without content. Ends a stream that has begun. */
const withoutBody = async (response: Response): Promise<Response> => {
  const { status, headers } = response
  await response.body?.cancel()
  return new Response(null, { status, headers })
}

const toResponse = (error: unknown, { request, context }: Call, log: Log): Response => {
  const failed = { request_id: context.requestId, method: request.method, path: new URL(request.url).pathname }
  if (error instanceof ApiError && error.code !== 'INTERNAL_ERROR') {
    logDatabaseFault(error, failed, log)
    return errorResponse(error)
  }
  // The client disconnected during its request: not an error.
  if (request.signal.aborted) return new Response(null, { status: 499 })
  const request_id = context.requestId ?? crypto.randomUUID()
  logFault(error, { ...failed, request_id }, log)
  return errorResponse(new ApiError('INTERNAL_ERROR', 'The service failed. Search its log for the request id.', { request_id }))
}
