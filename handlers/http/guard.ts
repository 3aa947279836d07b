import { type AccessDeps, hasApiKey, type Presented, requireAccess } from '../../lib/access/access.ts'
import type { RateLimiter } from '../../lib/access/rate-limit.ts'
import { json } from './respond.ts'
import type { Exchange, Route } from './route.ts'

/** Admits a request (undefined), answers it, or throws UNAUTHORIZED or RATE_LIMITED. */
export type Guard = (route: Route, exchange: Exchange) => Promise<Response | undefined>

/** Checks credentials and the rate limit of every route. */
export const createGuard =
  (deps: AccessDeps & { readonly limiter: RateLimiter }): Guard =>
  async ({ access, limit }, { request, context }) => {
    if (access === 'api_key' && !(await hasApiKey(deps, presentedBy(request)))) return refusedTrigger()
    if (access === 'session') await requireAccess(deps, presentedBy(request))
    if (limit !== undefined) deps.limiter.take(limit, context.clientAddress)
    return undefined
  }

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i

/** The credentials that a request carries. */
export const presentedBy = ({ headers }: Request): Presented => ({
  token: BEARER.exec(headers.get('authorization') ?? '')?.[1],
  apiKey: headers.get('x-api-key') ?? undefined,
})

// Trigger calls have their own error shape.
const refusedTrigger = (): Response => json({ error: 'Unauthorized' }, 401, { 'www-authenticate': 'ApiKey' })
