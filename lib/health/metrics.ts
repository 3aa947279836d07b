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
