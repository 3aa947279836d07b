import type { Answered, MetricsDeps } from '../../lib/health/metrics.ts'
import type { Log } from '../../lib/ports.ts'
import type { RequestContext } from './route.ts'

/** Reads and probes are too frequent for the level info. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Counts and logs every answer, with the route's template instead of the URL, which may hold secrets. */
export const recordAnswers =
  ({ log, metrics }: MetricsDeps & { readonly log: Log }): ((answered: Answered, context: RequestContext) => void) =>
  (answered, { requestId }) => {
    const { method, route, status, seconds } = answered
    const level = READS.has(method) && status < 500 ? 'debug' : 'info'
    log[level]('request', { request_id: requestId, method, route: route ?? null, status, ms: Math.round(seconds * 1e6) / 1000 })
    metrics?.answered(answered)
  }
