import type { EngineCaller } from './engine/client.ts'

/** One answered request. */
export interface Answered {
  readonly method: string
  /** The path's template; undefined when no route fits. */
  readonly route: string | undefined
  readonly status: number
  /** From the request's arrival to the head of its answer. */
  readonly seconds: number
}

/** What this process counts of itself; hosts bring an implementation. */
export interface Metrics {
  answered(answered: Answered): void
  /** All of it in the text format of Prometheus. */
  text(): Promise<string>
}

export interface MetricsDeps {
  readonly metrics?: Metrics
  /** The engine's metrics in the text format of Prometheus; rejects when it is away. */
  readonly engineMetrics?: () => Promise<string>
}

/** Version 0.0.4 of the text format. */
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** A scrape has 10 s by default, so an engine that does not answer must be given up before. */
const ENGINE_PATIENCE_MS = 3000

/** The metrics of this process and of its engine, in the text format of Prometheus; without the engine's when it is away. */
export const readMetrics = async ({ metrics, engineMetrics }: MetricsDeps): Promise<string> => {
  const [own, engine] = await Promise.all([metrics?.text(), engineMetrics?.().catch(() => undefined)])
  const up = [
    '# HELP svc_engine_up Whether the media engine answers (1) or not (0).',
    '# TYPE svc_engine_up gauge',
    `svc_engine_up ${engine === undefined ? 0 : 1}`,
  ].join('\n')
  return [own, up, engine].flatMap((text) => (text === undefined ? [] : [`${text.trimEnd()}\n`])).join('\n')
}

/** Asks the engine for its metrics. */
export const createEngineMetrics =
  ({ open }: EngineCaller): (() => Promise<string>) =>
  async () => {
    const response = await open('GET', '/metrics', undefined, AbortSignal.timeout(ENGINE_PATIENCE_MS))
    if (response.ok) return response.text()
    await response.body?.cancel()
    throw new Error(`The engine answered ${response.status}`)
  }
