import type { Recordings } from '../engine/protocol.ts'
import { ApiError, messageOf } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import { findRecord, whenUnknown } from '../pipelines/find.ts'
import { idleView, type PipelineRepresentation, represent } from '../pipelines/representation.ts'
import type { Log } from '../ports.ts'
import type { PipelineRepository } from '../repositories/repositories.ts'

export interface RecordDeps {
  readonly recordings: Recordings
  readonly pipelines: PipelineRepository
  readonly changes: KeyedQueue
  readonly log: Log
}

/** Records a pipeline whenever it plays, also after restarts; CONFLICT with `details.reason` no_pay0 when it has no video. */
export const startRecording = (deps: RecordDeps, id: string): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findRecord(deps.pipelines, id)
    if (record.config.output === null) throw noPay0(id)
    const recorded = { ...record, recording: true }
    // Stored first: what cannot be stored is not recorded.
    if (!record.recording) await deps.pipelines.setRecording(id, true)
    try {
      return represent(recorded, await deps.recordings.start(id).catch(whenUnknown(idleView(recorded))))
    } catch (error) {
      if (!record.recording) await deps.pipelines.setRecording(id, false).catch(notRestored(deps, id))
      throw error
    }
  })

/** Records no more; no effect when it is not recorded. What was recorded stays. */
export const stopRecording = (deps: RecordDeps, id: string): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findRecord(deps.pipelines, id)
    const stopped = { ...record, recording: false }
    const view = await deps.recordings.stop(id).catch(whenUnknown(idleView(stopped)))
    if (record.recording) await deps.pipelines.setRecording(id, false)
    return represent(stopped, view)
  })

const notRestored =
  ({ log }: RecordDeps, id: string) =>
  (cause: unknown): void =>
    log.warn('recording_not_restored', { id, error: messageOf(cause) })

const noPay0 = (id: string): ApiError =>
  new ApiError('CONFLICT', `The description of the pipeline ${id} has no element named pay0. Name its payloader pay0 to record it.`, {
    reason: 'no_pay0',
  })
