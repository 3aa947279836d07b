import { performance } from 'node:perf_hooks'
import { Gauge, Histogram, Registry } from 'prom-client'
import type { Metrics } from '../../lib/health/metrics.ts'
import { collectProcessMetrics } from '../../lib/process/process-metrics.ts'

/** From a read from memory to a start that times out, seconds. */
const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30]

/** All other methods share one label, because clients choose the method. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

interface ApiMetricsOptions {
  /** Number of connected event clients. */
  readonly sseClients: () => number
}

/** The metrics of the API process in prom-client; gauges are computed at each scrape. */
export const createApiMetrics = ({ sseClients }: ApiMetricsOptions): Metrics => {
  const registry = new Registry()
  const registers = [registry]
  const latency = new Histogram({
    name: 'svc_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the head of its answer, by route template.',
    labelNames: ['method', 'route', 'status'],
    buckets: LATENCY_BUCKETS,
    registers,
  })
  new Gauge({
    name: 'svc_sse_clients',
    help: 'Clients that follow events.',
    registers,
    collect() {
      this.set(sseClients())
    },
  })
  new Gauge({
    name: 'svc_api_uptime_seconds',
    help: 'Time since the API process started.',
    registers,
    collect() {
      this.set(process.uptime())
    },
  })
  collectProcessMetrics(registry, 'svc_api_', () => performance.eventLoopUtilization())
  return {
    answered: ({ method, route, status, seconds }) =>
      latency.observe({ method: METHODS.has(method) ? method : 'other', route: route ?? 'unmatched', status }, seconds),
    text: () => registry.metrics(),
  }
}
