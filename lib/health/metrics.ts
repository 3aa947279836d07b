/** One answered request. */
export interface Answered {
  readonly method: string
  /** The path's template; undefined when no route matches. */
  readonly route: string | undefined
  readonly status: number
  /** From the arrival of the request to the head of its answer. */
  readonly seconds: number
}

/** Metrics of this process; hosts pass in an implementation. */
export interface Metrics {
  answered(answered: Answered): void
  /** In the text format of Prometheus. */
  text(): Promise<string>
}

export interface MetricsDeps {
  readonly metrics?: Metrics
  /** The engine's metrics in the text format of Prometheus; rejects while the engine is unavailable. */
  readonly engineMetrics?: () => Promise<string>
}

/** The metrics of this process, and those of its engine while that is available, in the text format of Prometheus. */
export const readMetrics = async ({ metrics, engineMetrics }: MetricsDeps): Promise<string> => {
  const [own, engine] = await Promise.all([metrics?.text(), engineMetrics?.().catch(() => undefined)])
  const up = [
    '# HELP svc_engine_up Whether the media engine answers (1) or not (0).',
    '# TYPE svc_engine_up gauge',
    `svc_engine_up ${engine === undefined ? 0 : 1}`,
  ].join('\n')
  return [own, up, engine].flatMap((text) => (text === undefined ? [] : [`${text.trimEnd()}\n`])).join('\n')
}
