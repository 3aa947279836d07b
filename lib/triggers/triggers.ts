import type { EngineEvent } from '../engine/messages.ts'
import type { Engine } from '../engine/protocol.ts'
import { ApiError, hasCode } from '../errors.ts'
import { addPipeline, type CreateDeps } from '../pipelines/create.ts'
import type { PipelineRecord, SettingsRepository } from '../repositories/repositories.ts'
import { type MediaServer, type Trigger, type TriggerAnswer, triggeredConfig, triggerQuerySchema } from '../schema/trigger.ts'
import { readSettings } from '../settings/settings.ts'
import { validate } from '../validate.ts'
import { createArrivalOrder } from './arrival-order.ts'
import { createTriggerSlots, type TakeTriggerSlot } from './slots.ts'

interface TriggersDeps extends CreateDeps {
  readonly settings: SettingsRepository
  readonly mediaServer: MediaServer
}

type Query = Readonly<Record<string, unknown>>

/** Pipelines for the streams of a media server, which live as long as their stream. `arrivedAt`: arrival of the call, monotonic milliseconds. */
export interface Triggers {
  /** A stream was published: resolves when its pipeline plays; otherwise throws and leaves no pipeline. */
  publish(query: Query, arrivedAt: number): Promise<TriggerAnswer>
  /** A stream ended: removes its pipeline, also one that is still starting. */
  unpublish(query: Query, arrivedAt: number): Promise<TriggerAnswer>
  /** The ids under which a stream was published: of stored pipelines and of those that are starting. */
  idsOf(path: string): Promise<readonly string[]>
  /** Removes a triggered pipeline whose source has been unavailable for too long. */
  onEvent(event: EngineEvent): void
}

/** A publish in progress; later publishes of the same stream share it. */
interface Start {
  readonly trigger: Trigger
  readonly done: Promise<void>
  readonly cancel: () => void
}

export const createTriggers = (deps: TriggersDeps): Triggers => {
  const takeSlot = createTriggerSlots(deps)
  const arrivals = createArrivalOrder()
  const starts = new Map<string, Start>()
  const ends = new Map<string, Promise<void>>()

  const begin = (key: string, trigger: Trigger): Start => {
    const abort = new AbortController()
    const engine = cancellable(deps.engine, abort.signal)
    const done = deps.changes(trigger.id, () => start({ ...deps, engine }, takeSlot, trigger, abort.signal))
    const entry = { trigger, done, cancel: () => abort.abort(cancelled()) }
    keepWhile(starts, key, entry, done)
    return entry
  }

  /** Unpublishes of a stream share one removal unless a publish came between them. */
  const end = (key: string, trigger: Trigger): Promise<void> => {
    const running = starts.get(key)
    const ending = ends.get(key)
    if (running === undefined && ending !== undefined) return ending
    running?.cancel()
    // A later publish is a new start, which runs after this removal.
    starts.delete(key)
    const done = deps.changes(trigger.id, () => remove(deps, trigger))
    keepWhile(ends, key, done, done)
    return done
  }

  return {
    async publish(query, arrivedAt) {
      const trigger = validate(triggerQuerySchema, query, 'query')
      const key = keyOf(trigger)
      if (!arrivals.take(key, 'play', arrivedAt)) throw cancelled()
      await (starts.get(key) ?? begin(key, trigger)).done
      return { status: 'ok', pipelineId: trigger.id, action: 'play' }
    },
    async unpublish(query, arrivedAt) {
      const trigger = validate(triggerQuerySchema, query, 'query')
      const key = keyOf(trigger)
      if (arrivals.take(key, 'stop', arrivedAt)) await end(key, trigger)
      return { status: 'ok', pipelineId: trigger.id, action: 'stop' }
    },
    idsOf: (path) => idsOf(deps, path, starts.values()),
    onEvent(event) {
      if (event.type === 'pipeline' && event.view.runtime.phase === 'failed') void removeFailed(deps, event.view.id)
    },
  }
}

const idsOf = async ({ pipelines }: TriggersDeps, path: string, starts: Iterable<Start>): Promise<readonly string[]> => {
  const stored = (await pipelines.list()).filter((record) => record.trigger_path === path).map(({ config }) => config.id)
  const starting = [...starts].filter(({ trigger }) => trigger.path === path).map(({ trigger }) => trigger.id)
  return [...new Set([...stored, ...starting])]
}

/** Path and id: two paths that derive the same id are different streams. */
const keyOf = ({ id, path }: Trigger): string => `${id} ${path}`

/** Keeps an entry in the map until its work is done. */
const keepWhile = <T>(entries: Map<string, T>, key: string, entry: T, work: Promise<unknown>): void => {
  entries.set(key, entry)
  const drop = (): void => {
    if (entries.get(key) === entry) entries.delete(key)
  }
  work.then(drop, drop)
}

const start = async (deps: TriggersDeps, takeSlot: TakeTriggerSlot, trigger: Trigger, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted()
  const record = await deps.pipelines.find(trigger.id)
  if (record !== undefined) return resume(deps, record, trigger)
  const slot = await takeSlot(trigger.id)
  try {
    const { audio_default } = await readSettings(deps.settings)
    await addPipeline(
      deps,
      { config: triggeredConfig(trigger, deps.mediaServer, audio_default), geolocation: null, trigger_path: trigger.path },
      { wait: true },
    )
  } finally {
    slot.release()
  }
}

/** A known stream was published again: starts its pipeline unless it plays, and removes it when that fails. */
const resume = async (deps: TriggersDeps, record: PipelineRecord, { id, path }: Trigger): Promise<void> => {
  if (record.trigger_path === null) throw notTriggered(id)
  if (record.trigger_path !== path) throw otherPath(id, record.trigger_path)
  const view = await deps.engine.view(id).catch(undefinedWhenUnknown)
  if (view?.state === 'playing') return
  const slot = await deps.licensing.takeSlot(record.config)
  try {
    if (view === undefined) await deps.engine.put(record.config, { create: true, stored: true })
    // The stream is available now; after a stop, play does not wait for the retry delay.
    if (view?.runtime.phase === 'reconnecting') await deps.engine.stop(id)
    await deps.engine.play(id, { wait: true })
    await deps.pipelines.setDesired(id, 'playing')
  } catch (error) {
    await discard(deps, id).catch((cause: unknown) => deps.log.warn('triggered_pipeline_not_removed', { pipeline_id: id, error: cause }))
    throw error
  } finally {
    slot.release()
  }
}

const remove = async (deps: TriggersDeps, { id, path }: Trigger): Promise<void> => {
  const record = await deps.pipelines.find(id)
  if (record === undefined) return
  if (record.trigger_path === null) throw notTriggered(id)
  if (record.trigger_path === path) await discard(deps, id)
}

const removeFailed = async (deps: TriggersDeps, id: string): Promise<void> => {
  try {
    if (!(await isEphemeral(deps, id))) return
    await deps.changes(id, async () => {
      // It may have been replaced or started again since the check.
      if (!(await isEphemeral(deps, id))) return
      const view = await deps.engine.view(id).catch(undefinedWhenUnknown)
      if (view?.runtime.phase !== 'failed') return
      deps.log.info('triggered_pipeline_given_up', { pipeline_id: id })
      await discard(deps, id)
    })
  } catch (error) {
    // When the engine is gone, the next reconciliation removes this pipeline.
    deps.log.warn('triggered_pipeline_not_removed', { pipeline_id: id, error })
  }
}

const isEphemeral = async (deps: TriggersDeps, id: string): Promise<boolean> => (await deps.pipelines.find(id))?.config.ephemeral === true

/** Stops and removes a pipeline. While the engine is gone only the record is removed; the next reconciliation removes the rest. */
const discard = async (deps: TriggersDeps, id: string): Promise<void> => {
  try {
    await deps.engine.remove(id, { force: true })
  } catch (error) {
    if (!hasCode(error, 'NOT_FOUND')) {
      if (hasCode(error, 'SERVICE_UNAVAILABLE')) await deps.pipelines.remove(id)
      throw error
    }
  }
  await deps.pipelines.remove(id)
}

/** An engine whose `play` rejects when the signal aborts, after it has removed the pipeline. */
const cancellable = (engine: Engine, signal: AbortSignal): Engine => ({
  ...engine,
  play: async (id, options) => {
    signal.throwIfAborted()
    let removal: Promise<void> | undefined
    // Removed, not stopped: a stop that reaches the engine before the play would not prevent the start.
    const onAbort = (): void => {
      removal = engine.remove(id, { force: true }).catch(() => undefined)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const view = await engine.play(id, options)
      signal.throwIfAborted()
      return view
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    } finally {
      signal.removeEventListener('abort', onAbort)
      await removal
    }
  },
  remove: (id, options) =>
    engine.remove(id, options).catch((error: unknown) => {
      if (!signal.aborted || !hasCode(error, 'NOT_FOUND')) throw error
    }),
})

const undefinedWhenUnknown = (error: unknown): undefined => {
  if (!hasCode(error, 'NOT_FOUND')) throw error
  return undefined
}

const notTriggered = (id: string) =>
  new ApiError('CONFLICT', `The pipeline ${id} was not created by a trigger. Use another pipelineId.`, { reason: 'exists' })
const otherPath = (id: string, path: string) =>
  new ApiError('CONFLICT', `The pipeline ${id} belongs to another stream path. Use another pipelineId.`, {
    reason: 'other_path',
    path,
  })
const cancelled = () =>
  new ApiError('CONFLICT', 'The stream was unpublished while its pipeline was starting. Publish it again to start it.', {
    reason: 'stopped',
  })
