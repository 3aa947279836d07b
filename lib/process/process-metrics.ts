import { Counter, collectDefaultMetrics, type Registry } from 'prom-client'

/** The longest timer of Node.js, about 24 days, milliseconds. */
const NEVER_MS = 2 ** 31 - 1

/**
 * The metrics of a Node.js process as prom-client has them, except those of its event loop monitor, which wakes the process a
 * hundred times a second. Instead the event loop's own times are read at each scrape: the rate of the active time is its utilization.
 * `readLoop`: times that the event loop was active and idle so far, milliseconds.
 */
export const collectProcessMetrics = (
  registry: Registry,
  prefix: string,
  readLoop: () => { readonly active: number; readonly idle: number },
): void => {
  collectDefaultMetrics({ register: registry, prefix, eventLoopMonitoringPrecision: NEVER_MS })
  for (const { name } of registry.getMetricsAsArray())
    if (name.startsWith(`${prefix}nodejs_eventloop_lag_`)) registry.removeSingleMetric(name)
  const ofLoop = (state: 'active' | 'idle', help: string) =>
    new Counter({
      name: `${prefix}nodejs_eventloop_${state}_seconds_total`,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(readLoop()[state] / 1000)
      },
    })
  ofLoop('active', 'Time that the event loop has spent with work.')
  ofLoop('idle', 'Time that the event loop has waited for work.')
}
