import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { KlvCounts } from '../klv/tap.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import { MetricsHistory } from './history.ts'
import { readProcessUsage } from './process-usage.ts'
import { ENGINE_METRICS, type EngineFacts, type MetricRow } from './table.ts'

/** From a passthrough that starts at once to the longest start timeout, seconds. */
const FIRST_FRAME_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120]

export interface EngineMetricsSources {
  readonly supervisor: Pick<Supervisor, 'measure' | 'subscribe'>
  readonly publisher: { readonly connections: number }
  /** What the KLV decoders of the present pipelines have counted. */
  readonly klv?: () => readonly KlvCounts[]
}

/** The engine's metrics in the text format of Prometheus. Everything is read when it is asked for; nothing counts along with the frames. */
export const createEngineMetrics = ({ supervisor, publisher, klv }: EngineMetricsSources): (() => Promise<string>) => {
  const registry = new Registry()
  const firstFrame = new Histogram({
    name: 'svc_pipeline_first_frame_seconds',
    help: 'Time from the begin of a start to its first key frame.',
    buckets: FIRST_FRAME_BUCKETS,
    registers: [registry],
  })
  const events = new MetricsHistory((seconds) => firstFrame.observe(seconds))
  supervisor.subscribe((event) => events.record(event))
  const fills = ENGINE_METRICS.map((row) => toFill(row, registry))
  collectDefaultMetrics({ register: registry, prefix: 'svc_engine_' })

  const look = (): EngineFacts => ({
    pipelines: supervisor.measure().map((facts) => ({
      ...facts,
      process: facts.pid === undefined ? undefined : readProcessUsage(facts.pid),
      restarts: events.restarts(facts.view.id),
    })),
    klv: klv?.() ?? [],
    rtspConnections: publisher.connections,
  })
  return () => {
    const facts = look()
    for (const fill of fills) fill(facts)
    return registry.metrics()
  }
}

/** Registers a metric; answers what gives it the values of the moment, without those of pipelines that are gone. */
const toFill = ({ kind, name, help, labels, samples }: MetricRow, registry: Registry): ((facts: EngineFacts) => void) => {
  const options = { name, help, labelNames: [...labels], registers: [registry] }
  if (kind === 'gauge') {
    const gauge = new Gauge(options)
    return (facts) => {
      gauge.reset()
      for (const [of, value] of samples(facts)) gauge.set(of, value)
    }
  }
  const counter = new Counter(options)
  return (facts) => {
    counter.reset()
    for (const [of, value] of samples(facts)) counter.inc(of, value)
  }
}
