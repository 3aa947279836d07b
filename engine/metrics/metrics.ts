import { performance } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { collectProcessMetrics } from '../../lib/process/process-metrics.ts'
import type { CotCounts } from '../cot/sender.ts'
import type { KlvCounts } from '../klv/tap.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import { MetricsHistory } from './history.ts'
import { readProcessUsage } from './process-usage.ts'
import { ENGINE_METRICS, type EngineFacts, type MetricRow } from './table.ts'

/** From an immediate start of a passthrough to the longest start timeout, seconds. */
const FIRST_FRAME_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120]

export interface EngineMetricsSources {
  readonly supervisor: Pick<Supervisor, 'measure' | 'subscribe'>
  readonly publisher: { readonly connections: number }
  /** The KLV counters of the present pipelines. */
  readonly klv?: () => readonly KlvCounts[]
  readonly cot?: () => CotCounts
}

/** The engine's metrics in the text format of Prometheus. Values are collected per scrape, not per frame. */
export const createEngineMetrics = ({ supervisor, publisher, klv, cot }: EngineMetricsSources): (() => Promise<string>) => {
  const registry = new Registry()
  const firstFrame = new Histogram({
    name: 'svc_pipeline_first_frame_seconds',
    help: 'Time from the beginning of a start to its first key frame.',
    buckets: FIRST_FRAME_BUCKETS,
    registers: [registry],
  })
  const history = new MetricsHistory((seconds) => firstFrame.observe(seconds))
  supervisor.subscribe((event) => history.record(event))
  const setters = ENGINE_METRICS.map((row) => register(row, registry))
  collectProcessMetrics(registry, 'svc_engine_', () => performance.eventLoopUtilization())

  const collect = (): EngineFacts => ({
    pipelines: supervisor.measure().map((facts) => ({
      ...facts,
      process: facts.pid === undefined ? undefined : readProcessUsage(facts.pid),
      restarts: history.restarts(facts.view.id),
    })),
    klv: klv?.() ?? [],
    cot: cot?.() ?? { sent: 0, dropped: 0, connected: undefined },
    rtspConnections: publisher.connections,
  })
  return () => {
    const facts = collect()
    for (const set of setters) set(facts)
    return registry.metrics()
  }
}

/** Registers a metric; returns the function that sets its present values and drops those of removed pipelines. */
const register = ({ kind, name, help, labels: labelNames, samples }: MetricRow, registry: Registry): ((facts: EngineFacts) => void) => {
  const options = { name, help, labelNames: [...labelNames], registers: [registry] }
  if (kind === 'gauge') {
    const gauge = new Gauge(options)
    return (facts) => {
      gauge.reset()
      for (const [labels, value] of samples(facts)) gauge.set(labels, value)
    }
  }
  const counter = new Counter(options)
  return (facts) => {
    counter.reset()
    for (const [labels, value] of samples(facts)) counter.inc(labels, value)
  }
}
