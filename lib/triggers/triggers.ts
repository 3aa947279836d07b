import type { EngineEvent } from '../engine/messages.ts'
import type { Engine } from '../engine/protocol.ts'
import { ApiError } from '../errors.ts'
import { addPipeline, type PipelineDeps } from '../pipelines/pipelines.ts'
import type { PipelineRecord, SettingsRepository } from '../repositories.ts'
import { type MediaServer, type Trigger, type TriggerAnswer, triggeredConfig, triggerQuerySchema } from '../schema/trigger.ts'
import { validate } from '../validate.ts'
import { createArrivalOrder } from './arrival-order.ts'
import { createPlaces } from './slots.ts'

export interface TriggersDeps extends PipelineDeps {
  readonly settings: SettingsRepository
  readonly mediaServer: MediaServer
}

type Query = Readonly<Record<string, unknown>>

/** The streams of a media server as pipelines that live as long as the stream. `arrivedAt`: when the call came, monotonic milliseconds. */
export interface Triggers {
  /** A stream was published: its pipeline plays, or nothing is left of it and the error tells why. */
  publish(query: Query, arrivedAt: number): Promise<TriggerAnswer>
  /** A stream ended: its pipeline is gone, also one that is still starting. */
  unpublish(query: Query, arrivedAt: number): Promise<TriggerAnswer>
  /** Removes a triggered pipeline whose source has been away for too long. */
  notice(event: EngineEvent): void
}

/** A publish on its way; those that come meanwhile for the same stream share it. */
interface Start {
  readonly done: Promise<void>
  readonly cancel: () => void
}

export const createTriggers = (deps: TriggersDeps): Triggers => {
  const places = createPlaces(deps)
  const arrivals = createArrivalOrder()
  const starts = new Map<string, Start>()
  const ends = new Map<string, Promise<void>>()

  const begin = (key: string, trigger: Trigger): Start => {
    const abort = new AbortController()
    const engine = cancellable(deps.engine, abort.signal)
    const done = deps.changes(trigger.id, () => bringUp({ ...deps, engine }, places, trigger, abort.signal))
    const start = { done, cancel: () => abort.abort(cancelled()) }
    keepWhile(starts, key, start, done)
    return start
  }

  /** Unpublishes of a stream share one removal, as long as no publish has come between them. */
  const end = (key: string, trigger: Trigger): Promise<void> => {
    const running = starts.get(key)
    const ending = ends.get(key)
    if (running === undefined && ending !== undefined) return ending
    running?.cancel()
    // A publish that comes from now on is another one, and has its turn after this.
    starts.delete(key)
    const done = deps.changes(trigger.id, () => takeDown(deps, trigger))
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
    notice(event) {
      if (event.type === 'pipeline' && event.view.runtime.phase === 'failed') void removeFailed(deps, event.view.id)
    },
  }
}

/** One stream with one id: paths that derive the same id are streams of their own. */
const keyOf = ({ id, path }: Trigger): string => `${id} ${path}`

/** Keeps an entry until its work is done. */
const keepWhile = <T>(entries: Map<string, T>, key: string, entry: T, work: Promise<unknown>): void => {
  entries.set(key, entry)
  const drop = (): void => {
    if (entries.get(key) === entry) entries.delete(key)
  }
  work.then(drop, drop)
}

type Places = ReturnType<typeof createPlaces>

const bringUp = async (deps: TriggersDeps, places: Places, trigger: Trigger, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted()
  const record = await deps.pipelines.find(trigger.id)
  if (record !== undefined) return resume(deps, record, trigger)
  const place = await places.take(trigger.id)
  try {
    await addPipeline(deps, { config: triggeredConfig(trigger, deps.mediaServer), geolocation: null, trigger_path: trigger.path })
  } finally {
    place.release()
  }
}

/** The same stream again: what plays is left alone, anything else is started; what does not start is not kept. */
const resume = async (deps: TriggersDeps, record: PipelineRecord, { id, path }: Trigger): Promise<void> => {
  if (record.trigger_path === null) throw usersOwn(id)
  if (record.trigger_path !== path) throw takenBy(id, record.trigger_path)
  const view = await deps.engine.view(id).catch(undefinedWhenUnknown)
  if (view?.state === 'playing') return
  const slot = await deps.licensing.admit(record.config)
  try {
    if (view === undefined) await deps.engine.put(record.config, { create: true })
    // The stream is there now: no need to sit out a pause between two attempts.
    if (view?.runtime.phase === 'reconnecting') await deps.engine.stop(id)
    await deps.engine.play(id, { wait: true })
    await deps.pipelines.setDesired(id, 'playing')
  } catch (error) {
    await forget(deps, id).catch((cause: unknown) => deps.log.warn('triggered_pipeline_not_removed', { pipeline_id: id, error: cause }))
    throw error
  } finally {
    slot.release()
  }
}

const takeDown = async (deps: TriggersDeps, { id, path }: Trigger): Promise<void> => {
  const record = await deps.pipelines.find(id)
  if (record === undefined) return
  if (record.trigger_path === null) throw usersOwn(id)
  if (record.trigger_path === path) await forget(deps, id)
}

const removeFailed = async (deps: TriggersDeps, id: string): Promise<void> => {
  try {
    if (!(await isEphemeral(deps, id))) return
    await deps.changes(id, async () => {
      // Meanwhile it may have been started again, or be another one.
      if (!(await isEphemeral(deps, id))) return
      const view = await deps.engine.view(id).catch(undefinedWhenUnknown)
      if (view?.runtime.phase !== 'failed') return
      deps.log.info('triggered_pipeline_given_up', { pipeline_id: id })
      await forget(deps, id)
    })
  } catch (error) {
    // When the engine is away, the reconciliation at its return finds this pipeline.
    deps.log.warn('triggered_pipeline_not_removed', { pipeline_id: id, error })
  }
}

const isEphemeral = async (deps: TriggersDeps, id: string): Promise<boolean> => (await deps.pipelines.find(id))?.config.ephemeral === true

/** Stops and forgets a pipeline. While the engine is away only the record goes: the engine forgets what nobody stored when it is back. */
const forget = async (deps: TriggersDeps, id: string): Promise<void> => {
  try {
    await deps.engine.remove(id, { force: true })
  } catch (error) {
    if (!isCode(error, 'NOT_FOUND')) {
      if (isCode(error, 'SERVICE_UNAVAILABLE')) await deps.pipelines.remove(id)
      throw error
    }
  }
  await deps.pipelines.remove(id)
}

/** An engine whose starts end when the signal aborts; nothing of them is left when `play` has rejected. */
const cancellable = (engine: Engine, signal: AbortSignal): Engine => ({
  ...engine,
  play: async (id, options) => {
    signal.throwIfAborted()
    let removal: Promise<void> | undefined
    // Removed, not stopped: a stop that reached the engine before its play would leave that to start.
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
      if (!signal.aborted || !isCode(error, 'NOT_FOUND')) throw error
    }),
})

const undefinedWhenUnknown = (error: unknown): undefined => {
  if (!isCode(error, 'NOT_FOUND')) throw error
  return undefined
}

const isCode = (error: unknown, code: ApiError['code']): boolean => error instanceof ApiError && error.code === code

const usersOwn = (id: string) =>
  new ApiError('CONFLICT', `The pipeline ${id} was not created by a trigger. Use another pipelineId.`, { reason: 'exists' })
const takenBy = (id: string, path: string) =>
  new ApiError('CONFLICT', `The pipeline ${id} belongs to another stream path. Give one of the two a pipelineId of its own.`, {
    reason: 'other_path',
    path,
  })
const cancelled = () => new ApiError('CONFLICT', 'The stream was unpublished while its pipeline was starting.', { reason: 'stopped' })
