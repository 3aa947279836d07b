import { ApiError } from '../../lib/errors.ts'
import type { Answered } from '../../lib/health/metrics.ts'
import type { Log } from '../../lib/ports.ts'
import type { AskedRequest, Guard } from './guard.ts'
import { logDatabaseFault } from './log-fault.ts'
import { errorResponse } from './respond.ts'
import type { ReadyAnswer, RequestContext, Route } from './route.ts'

interface ReadyReadsDeps {
  readonly guard: Guard
  readonly log: Log
  readonly onAnswer?: (answered: Answered, context: RequestContext) => void
}

/**
 * Answers the reads that are asked for most often without making a Request and a Response, which cost a host more than the read
 * itself. Undefined: the request is for the router; the promise may tell that too.
 */
export type ReadyReads = (
  request: AskedRequest & { readonly path: string },
  context: RequestContext,
) => Promise<(ReadyAnswer & { readonly status: number }) | undefined> | undefined

/** The routes that have a ready answer, behind the same guard as in the router. */
export const createReadyReads = (routes: readonly Route[], deps: ReadyReadsDeps): ReadyReads => {
  const table = routes.flatMap((route) =>
    route.ready === undefined ? [] : [{ route, ready: route.ready, pattern: patternOf(route.path), names: namesOf(route.path) }],
  )
  return (request, context) => {
    // What a page sends with an Origin is for the CORS rules of the router.
    if (request.method !== 'GET' || request.headers.get('origin') !== null) return undefined
    for (const { route, ready, pattern, names } of table) {
      const match = pattern.exec(request.path)
      if (match !== null) return answer({ route, ready, params: paramsOf(names, match) }, request, context, deps)
    }
    return undefined
  }
}

interface Matched {
  readonly route: Route
  readonly ready: NonNullable<Route['ready']>
  readonly params: Readonly<Record<string, string>>
}

const answer = async (
  { route, ready, params }: Matched,
  request: AskedRequest & { readonly path: string },
  context: RequestContext,
  { guard, log, onAnswer }: ReadyReadsDeps,
): Promise<(ReadyAnswer & { readonly status: number }) | undefined> => {
  const began = performance.now()
  const answered = (answer: ReadyAnswer, status: number) => {
    onAnswer?.({ method: 'GET', route: route.path, status, seconds: (performance.now() - began) / 1000 }, context)
    return { ...answer, status }
  }
  try {
    if ('answer' in (await guard(route, { request, context, corsOrigins: [] }))) return undefined
    return answered(await ready(params), 200)
  } catch (error) {
    // What the router logs, it meets again. Not so a database that does not answer: that takes its time each time.
    if (!(error instanceof ApiError) || error.code === 'INTERNAL_ERROR') return undefined
    logDatabaseFault(error, { request_id: context.requestId, method: request.method, path: request.path }, log)
    const response = errorResponse(error)
    return answered({ headers: Object.fromEntries(response.headers), body: await response.text() }, response.status)
  }
}

/** Neither a query nor percent-encoding. */
const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(PARAMETER, '([A-Za-z0-9_-]+)')}$`)

const namesOf = (path: string): readonly string[] => [...path.matchAll(PARAMETER)].map(([, name = '']) => name)

const PARAMETER = /:(\w+)/g

/** Named groups of a pattern would cost more than all of the match. */
const paramsOf = (names: readonly string[], match: RegExpExecArray): Readonly<Record<string, string>> => {
  const params: Record<string, string> = {}
  for (const [index, name] of names.entries()) params[name] = match[index + 1] ?? ''
  return params
}
