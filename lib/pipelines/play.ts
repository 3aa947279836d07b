import type { Engine } from '../engine/protocol.ts'
import { hasCode, isDatabaseBusy, messageOf } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Licensing } from '../license/licensing.ts'
import type { Log } from '../ports.ts'
import type { PipelineRecord, PipelineRepository } from '../repositories/repositories.ts'
import { type PipelineState, startQuerySchema } from '../schema/pipeline.ts'
import { validate } from '../validate.ts'
import { findRecord } from './find.ts'
import { type PipelineRepresentation, represent } from './representation.ts'

export interface PlayDeps {
  readonly engine: Engine
  readonly pipelines: PipelineRepository
  readonly licensing: Licensing
  readonly changes: KeyedQueue
  readonly log: Log
}

/**
 * Starts a pipeline and answers after its first key frame, or with `start=background` at once; a pipeline that already plays is left as it
 * is.
 */
export const playPipeline = async (
  deps: PlayDeps,
  id: string,
  query: Readonly<Record<string, unknown>>,
): Promise<PipelineRepresentation> => {
  const wait = validate(startQuerySchema, query, 'query').start === 'wait'
  const { record, slot, played } = await inTurn(deps, id, () => beginPlay(deps, id, wait))
  try {
    const view = await played
    return represent(await present(deps, record), view)
  } catch (error) {
    const { stopped } = await present(deps, record).catch(() => record)
    // A stop that came meanwhile lasts.
    await keepDesired(deps, id, record.desired, record.stopped || stopped).catch(notStored(deps, id))
    throw error
  } finally {
    slot.release()
    await storeDesired(deps, id, { stop: false })
  }
}

/** The call of the engine has been sent when this resolves, but may not be answered. */
const beginPlay = async (deps: PlayDeps, id: string, wait: boolean) => {
  const record = await findRecord(deps.pipelines, id)
  const slot = await deps.licensing.takeSlot(record.config)
  try {
    // Stored first: an engine that is replaced right after its answer must continue to play.
    await keepDesired(deps, id, 'playing', false)
  } catch (error) {
    slot.release()
    throw error
  }
  return { record, slot, played: registered(deps, id, () => deps.engine.play(id, { wait, check: !wait })) }
}

/** Stops a pipeline, or cancels its start; answers when the child process has ended. It stays stopped until it is played. */
export const stopPipeline = async (deps: PlayDeps, id: string): Promise<PipelineRepresentation> => {
  const { record, stopped } = await inTurn(deps, id, () => beginStop(deps, id))
  try {
    const view = await stopped
    // Periodic screenshots end with a stop; the next play does not start them again.
    if (record.screenshots) await deps.pipelines.setScreenshots(id, null).catch(notStored(deps, id))
    return represent(await present(deps, record), view)
  } catch (error) {
    await keepDesired(deps, id, record.desired, record.stopped).catch(notStored(deps, id))
    throw error
  } finally {
    await storeDesired(deps, id, { stop: true })
  }
}

const beginStop = async (deps: PlayDeps, id: string) => {
  const record = await findRecord(deps.pipelines, id)
  // Stored first: an engine that is replaced meanwhile must not start it again.
  await keepDesired(deps, id, 'ready', true)
  return { record, stopped: registered(deps, id, () => deps.engine.stop(id)) }
}

/** Plays and stops of a pipeline reach the engine in the order in which they came, and are stored in that order. */
const inTurn = <T>({ changes }: PlayDeps, id: string, run: () => Promise<T>): Promise<T> => changes(`${id} desired`, run)

/**
 * Stores the requested state. A pipeline can be played and stopped even where that fails, as on a full disk: the repository keeps the
 * state in memory, and the next process takes it from the engine. Throws SERVICE_UNAVAILABLE while another program holds the database.
 */
const keepDesired = async (deps: PlayDeps, id: string, desired: PipelineState, stopped: boolean): Promise<void> => {
  await deps.pipelines.setDesired(id, desired, stopped).catch((error: unknown) => {
    if (isDatabaseBusy(error)) throw error
    notStored(deps, id)(error)
  })
}

const notStored =
  ({ log }: PlayDeps, id: string) =>
  (cause: unknown): void =>
    log.warn('pipeline_desired_not_stored', { id, error: messageOf(cause) })

/** The pipeline as it is stored now: its geolocation may have changed during the start or stop. */
const present = async ({ pipelines }: PlayDeps, record: PipelineRecord): Promise<PipelineRecord> =>
  (await pipelines.find(record.config.id)) ?? record

/**
 * Stores the state that was last requested from the engine. Concurrent plays and stops store one after the other, each what the engine
 * reports then, so the last write is right. Keeps the stored state while the engine is unavailable. `stop`: after a stop command.
 */
const storeDesired = async (deps: PlayDeps, id: string, { stop }: { readonly stop: boolean }): Promise<void> => {
  try {
    await inTurn(deps, id, async () => {
      const { desired } = (await deps.engine.view(id)).runtime
      const record = await findRecord(deps.pipelines, id)
      const stopped = desired === 'ready' && (stop || record.stopped)
      if (desired !== record.desired || stopped !== record.stopped) await deps.pipelines.setDesired(id, desired, stopped)
    })
  } catch (cause) {
    if (!hasCode(cause, 'NOT_FOUND')) notStored(deps, id)(cause)
  }
}

/** Runs an operation; when the engine does not know the pipeline, registers it and runs the operation again. */
const registered = async <T>(deps: PlayDeps, id: string, operate: () => Promise<T>): Promise<T> => {
  try {
    return await operate()
  } catch (error) {
    if (!hasCode(error, 'NOT_FOUND')) throw error
    await deps.changes(id, async () => {
      const { config } = await findRecord(deps.pipelines, id)
      await deps.engine.put(config, { create: true, stored: true }).catch(ignoreConflict)
    })
    return operate()
  }
}

/** Another request has registered the pipeline meanwhile. */
const ignoreConflict = (error: unknown): void => {
  if (!hasCode(error, 'CONFLICT')) throw error
}
