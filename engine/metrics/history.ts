import type { EngineEvent } from '../../lib/engine/messages.ts'
import type { PipelineView } from '../../lib/schema/pipeline.ts'

interface History {
  /** Begin of the present start, milliseconds since the epoch; undefined unless it waits for its first frame. */
  startingSince: number | undefined
  /** Restarts of the newest status; reset by each play. */
  restarts: number
  lastFault: string
  readonly restartsByReason: Map<string, number>
}

/** Metrics that need the engine's events: restarts by reason, and the duration of starts. */
export class MetricsHistory {
  readonly #pipelines = new Map<string, History>()
  readonly #onFirstFrame: (seconds: number) => void

  /** `onFirstFrame` gets the duration of a start. */
  constructor(onFirstFrame: (seconds: number) => void) {
    this.#onFirstFrame = onFirstFrame
  }

  record(event: EngineEvent): void {
    if (event.type === 'pipeline') this.#recordStatus(event.view)
    else if (event.type === 'pipeline_error') this.#of(event.id).lastFault = event.reason
    else if (event.type === 'pipeline_removed') this.#pipelines.delete(event.id)
  }

  /** Restarts of a pipeline by reason. */
  restarts(id: string): ReadonlyMap<string, number> {
    return this.#pipelines.get(id)?.restartsByReason ?? new Map()
  }

  #recordStatus({ id, runtime }: PipelineView): void {
    const history = this.#of(id)
    const added = runtime.restarts - history.restarts
    history.restarts = runtime.restarts
    if (added > 0) history.restartsByReason.set(history.lastFault, (history.restartsByReason.get(history.lastFault) ?? 0) + added)
    if (runtime.phase === 'playing' && history.startingSince !== undefined) {
      this.#onFirstFrame(Math.max(0, Date.parse(runtime.since) - history.startingSince) / 1000)
    }
    history.startingSince = runtime.phase === 'starting' ? Date.parse(runtime.since) : undefined
  }

  #of(id: string): History {
    const known = this.#pipelines.get(id)
    if (known !== undefined) return known
    const fresh: History = { startingSince: undefined, restarts: 0, lastFault: 'unknown', restartsByReason: new Map() }
    this.#pipelines.set(id, fresh)
    return fresh
  }
}
