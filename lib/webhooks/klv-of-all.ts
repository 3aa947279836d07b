import type { ApiEvent } from '../events/replay-buffer.ts'
import type { Upstreams } from '../events/upstreams.ts'
import type { PipelineRepository } from '../repositories/repositories.ts'

export interface KlvOfAll {
  /** Pipelines come and go with their events. */
  onEvent(event: ApiEvent): void
  /** Reads the KLV of every pipeline, or of none. */
  follow(wanted: boolean): Promise<void>
}

/** KLV is read from the engine for those alone who want it: for a webhook that does, of every pipeline. */
export const followKlvOfAll = (klvUpstreams: Upstreams, pipelines: Pick<PipelineRepository, 'list'>): KlvOfAll => {
  const leave = new Map<string, () => void>()
  let isWanted = false
  const join = (id: string): void => {
    if (isWanted && !leave.has(id)) leave.set(id, klvUpstreams.subscribe(id))
  }
  const part = (id: string): void => {
    leave.get(id)?.()
    leave.delete(id)
  }
  return {
    onEvent({ event, pipelineId }) {
      if (pipelineId === undefined || event === 'klv') return
      if (event === 'pipeline_not_found') part(pipelineId)
      else join(pipelineId)
    },
    async follow(wanted) {
      isWanted = wanted
      if (wanted) for (const { config } of await pipelines.list()) join(config.id)
      else for (const id of [...leave.keys()]) part(id)
    },
  }
}
