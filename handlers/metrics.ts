import * as v from 'valibot'
import { METRICS_CONTENT_TYPE } from '../lib/engine/protocol.ts'
import { type MetricsDeps, readMetrics } from '../lib/health/metrics.ts'
import { type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

/** The metrics for Prometheus. */
export const metricsRoutes = (deps: MetricsDeps) => [
  route({
    access: 'session',
    method: 'GET',
    path: '/svc/metrics',
    operation: 'getMetrics',
    summary: 'Metrics of the API and its engine in the Prometheus text format',
    description: 'While a password is set, Prometheus needs the API key as X-API-Key.',
    status: 200,
    errors: [],
    answer: { description: 'Prometheus text format 0.0.4', content: { 'text/plain': { schema: v.string() } } },
    handle: async () =>
      new Response(await readMetrics(deps), { headers: { 'content-type': METRICS_CONTENT_TYPE, 'cache-control': 'no-store' } }),
  }),
]

/** The metrics alone, for embedding. */
export const createMetricsHandlers = (deps: MetricsDeps & RouterDeps): FetchHandler => createRouter(metricsRoutes(deps), deps).fetch
