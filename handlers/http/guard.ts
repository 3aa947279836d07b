import { type AccessDeps, type Admission, hasApiKey, isAuthenticated, type Presented, requireAccess } from '../../lib/access/access.ts'
import { type CallerRules, foreignOrigin, unknownHost } from '../../lib/access/foreign-origin.ts'
import type { RateLimiter } from '../../lib/access/rate-limit.ts'
import { isAuthEnabled } from '../../lib/access/sessions.ts'
import { ApiError } from '../../lib/errors.ts'
import { readyJson } from './respond.ts'
import type { ReadyAnswer, RequestContext, Route } from './route.ts'

/** The method, address and header fields of a request. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly headers: Pick<Headers, 'get'>
}

/** A request before its route handles it. */
export interface Arrival {
  readonly request: RequestHead
  readonly context: RequestContext
  /** Origins whose pages may call the API. */
  readonly corsOrigins: readonly string[]
}

/**
 * Admits a request to its route, answers it, or throws FORBIDDEN, UNAUTHORIZED or RATE_LIMITED. Without a route it checks
 * only whether this caller may call at all.
 */
export type Guard = (
  route: Route | undefined,
  arrival: Arrival,
) => Promise<{ readonly admission: Admission } | { readonly answer: ReadyAnswer }>

interface GuardDeps extends AccessDeps, CallerRules {
  readonly limiter: RateLimiter
}

/** Checks, in this order: who calls, the credentials, the rate limit. Reads nothing of the body. */
export const createGuard =
  (deps: GuardDeps): Guard =>
  async (route, arrival) => {
    const presented = presentedBy(arrival.request)
    const unknown = unknownCaller(deps, route, arrival)
    if (unknown !== undefined) await refuseUnlessKnown(deps, unknown, presented)
    if (route?.access === 'api_key' && !(await hasApiKey(deps, presented))) return { answer: refusedTrigger() }
    const admission = route?.access === 'session' ? await requireAccess(deps, presented) : NOT_CHECKED
    if (route?.limit !== undefined) deps.limiter.take(route.limit, arrival.context.clientAddress)
    return { admission }
  }

const NOT_CHECKED: Admission = { by: 'nothing' }

interface UnknownCaller {
  readonly origin: string | undefined
  readonly host: string | undefined
}

/** The reasons to refuse a request: a foreign origin, an unknown host name; undefined when there is none. */
const unknownCaller = (deps: GuardDeps, route: Route | undefined, { request, corsOrigins }: Arrival): UnknownCaller | undefined => {
  const origin = foreignOrigin(request, deps, corsOrigins, route)
  const host = route?.access === 'public' ? undefined : unknownHost(request, deps, corsOrigins)
  return origin === undefined && host === undefined ? undefined : { origin, host }
}

/** No page can forge the header fields of a credential: with one, a request is not made by a foreign page. */
const refuseUnlessKnown = async (deps: GuardDeps, { origin, host }: UnknownCaller, presented: Presented): Promise<void> => {
  if (await isAuthenticated(deps, presented)) return
  if (origin !== undefined) throw crossOrigin(origin)
  if (host !== undefined && !(await isAuthEnabled(deps))) throw hostUnknown(host)
}

const crossOrigin = (origin: string): ApiError =>
  new ApiError(
    'FORBIDDEN',
    `Pages of ${origin === 'null' ? 'an unknown origin' : origin} may not change anything here, nor load pictures and video. Add their origin to SVC_CORS_ORIGINS, or send the API key; if it is the origin of this service behind a reverse proxy, set SVC_TRUST_PROXY=1.`,
    { reason: 'cross_origin' },
  )

const hostUnknown = (host: string): ApiError =>
  new ApiError(
    'FORBIDDEN',
    `The host name ${host} is not known, and no password is set. Add it to SVC_ALLOWED_HOSTS, set a password, or use localhost or an IP address.`,
    { reason: 'unknown_host' },
  )

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i

/** The credentials that a request carries. */
export const presentedBy = ({ headers }: Pick<RequestHead, 'headers'>): Presented => ({
  token: BEARER.exec(headers.get('authorization') ?? '')?.[1],
  apiKey: headers.get('x-api-key') ?? undefined,
})

// Trigger calls have their own error shape.
const refusedTrigger = (): ReadyAnswer => readyJson({ error: 'Unauthorized' }, 401, { 'www-authenticate': 'ApiKey' })
