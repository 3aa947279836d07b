import type { EngineCheck } from '../engine/messages.ts'
import type { Engine, Screenshots } from '../engine/protocol.ts'
import { ApiError } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Licensing } from '../license/license.ts'
import type { Clock, Log } from '../ports.ts'
import type { PipelineRecord, PipelineRepository } from '../repositories.ts'
import { type Geolocation, type PipelineConfig, type PipelineView, pipelineFilterSchema, pipelinePatchSchema } from '../schema/pipeline.ts'
import { DEFAULT_SETTINGS } from '../schema/settings.ts'
import { validate, validationError } from '../validate.ts'
import { restoreCredentials } from './credentials.ts'
import { parsePipeline } from './input.ts'
import { absentView, type PipelineRepresentation, represent } from './representation.ts'

export interface PipelineDeps {
  readonly engine: Engine
  readonly screenshots: Pick<Screenshots, 'locate'>
  readonly pipelines: PipelineRepository
  readonly licensing: Licensing
  /** One change of a pipeline at a time, so that engine and database agree afterwards. */
  readonly changes: KeyedQueue
  readonly clock: Clock
  readonly log: Log
}

/** Stores a pipeline and, unless it is on-demand, starts it first; what does not start is not stored. */
export const createPipeline = async (deps: PipelineDeps, input: unknown): Promise<PipelineRepresentation> => {
  const { config, geolocation } = parsePipeline(input)
  return deps.changes(config.id, async () => {
    if ((await deps.pipelines.find(config.id)) !== undefined) throw exists(config.id)
    return addPipeline(deps, { config: restoreCredentials(config), geolocation, trigger_path: null })
  })
}

/** Registers, starts (unless on-demand) and stores a new pipeline; undone as a whole when a step fails. */
export const addPipeline = async (
  deps: PipelineDeps,
  { config, geolocation, trigger_path }: Pick<PipelineRecord, 'config' | 'geolocation' | 'trigger_path'>,
): Promise<PipelineRepresentation> => {
  await checkDescription(deps, config)
  const slot = config.on_demand ? await deps.licensing.allow(config) : await deps.licensing.admit(config)
  try {
    const assigned = await deps.engine.put(config, { create: true })
    return await undoUnlessDone(deps, config.id, async () => {
      const view = config.on_demand ? await deps.engine.view(config.id) : await deps.engine.play(config.id, { wait: true })
      const now = deps.clock.now()
      const desired = config.on_demand ? 'ready' : 'playing'
      const record: PipelineRecord = { config: assigned, geolocation, desired, trigger_path, created_at: now, updated_at: now }
      await deps.pipelines.insert(record)
      return represent(record, view)
    })
  } finally {
    slot?.release()
  }
}

const undoUnlessDone = async <T>(deps: PipelineDeps, id: string, run: () => Promise<T>): Promise<T> => {
  try {
    return await run()
  } catch (error) {
    await deps.engine
      .remove(id, { force: true })
      .catch((cause: unknown) => deps.log.warn('pipeline_not_undone', { id, error: messageOf(cause) }))
    throw error
  }
}

/** A dry run of a create: the masked gst-launch line, or the VALIDATION_ERROR that create would give. */
export const validatePipeline = async (deps: PipelineDeps, input: unknown) => {
  const { config } = parsePipeline(input)
  const { launch } = await checkDescription(deps, restoreCredentials(config))
  return { valid: true, launch }
}

/** Every pipeline that matches the filters given, the oldest first. */
export const listPipelines = async (deps: PipelineDeps, query: Readonly<Record<string, unknown>>): Promise<PipelineRepresentation[]> => {
  const filter = validate(pipelineFilterSchema, query, 'query')
  const [records, views] = await Promise.all([deps.pipelines.list(), deps.engine.list()])
  const viewOf = new Map(views.map((view) => [view.id, view]))
  return records
    .filter(({ config }) => filter.mode === undefined || config.mode === filter.mode)
    .filter(({ config }) => filter.on_demand === undefined || config.on_demand === filter.on_demand)
    .map((record) => represent(record, viewOf.get(record.config.id) ?? notRunning(record)))
    .filter(({ state }) => filter.state === undefined || state === filter.state)
}

/** One pipeline; NOT_FOUND. */
export const getPipeline = async (deps: PipelineDeps, id: string): Promise<PipelineRepresentation> => {
  const record = await findRecord(deps, id)
  return represent(record, await viewOrNotRunning(deps, record))
}

/** Replaces the whole configuration of a pipeline that does not run (CONFLICT), and does not start it. */
export const replacePipeline = async (deps: PipelineDeps, id: string, input: unknown): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findRecord(deps, id)
    const parsed = parsePipeline(input, id)
    const wanted = restoreCredentials({ ...parsed.config, ephemeral: record.config.ephemeral }, record.config)
    const { publishes } = await checkDescription(deps, wanted)
    // A configuration without an address keeps the one its readers know.
    const config = wanted.output === null && publishes ? { ...wanted, output: record.config.output } : wanted
    const assigned = await putKnown(deps, record, config)
    const change = { config: assigned, geolocation: parsed.geolocation, updated_at: deps.clock.now() }
    try {
      if (!(await deps.pipelines.replace(id, change))) throw unknown(id)
    } catch (error) {
      await deps.engine
        .put(record.config, { create: false })
        .catch((cause: unknown) => deps.log.warn('pipeline_not_put_back', { id, error: messageOf(cause) }))
      throw error
    }
    await tellLocation(deps, id, change.geolocation)
    const changed = { ...record, ...change }
    return represent(changed, await viewOrNotRunning(deps, changed))
  })

/** Sets or removes (null) the geolocation, also while the pipeline plays. */
export const patchPipeline = async (deps: PipelineDeps, id: string, input: unknown): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findRecord(deps, id)
    const { geolocation } = validate(pipelinePatchSchema, input, 'change')
    const view = await viewOrNotRunning(deps, record)
    const updated_at = deps.clock.now()
    if (!(await deps.pipelines.setGeolocation(id, geolocation, updated_at))) throw unknown(id)
    await tellLocation(deps, id, geolocation)
    return represent({ ...record, geolocation, updated_at }, view)
  })

/** Forgets a pipeline that does not run (CONFLICT); its screenshots stay. */
export const deletePipeline = async (deps: PipelineDeps, id: string): Promise<void> =>
  deps.changes(id, async () => {
    await findRecord(deps, id)
    await deps.engine.remove(id, { force: false }).catch(ignoreNotFound)
    await deps.pipelines.remove(id)
  })

/** Starts a pipeline and answers when its first key frame came; one that plays already stays as it is. */
export const playPipeline = async (deps: PipelineDeps, id: string): Promise<PipelineRepresentation> => {
  const record = await findRecord(deps, id)
  const slot = await deps.licensing.admit(record.config)
  try {
    const view = await onEngine(deps, id, () => deps.engine.play(id, { wait: true }))
    return represent(record, view)
  } finally {
    slot.release()
    await storeDesired(deps, id)
  }
}

/** Stops a pipeline, or cancels its start; answers when the child process has ended. */
export const stopPipeline = async (deps: PipelineDeps, id: string): Promise<PipelineRepresentation> => {
  const record = await findRecord(deps, id)
  await deps.pipelines.setDesired(id, 'ready')
  const view = await onEngine(deps, id, () => deps.engine.stop(id))
  await storeDesired(deps, id)
  // Screenshots end with what they show; the next play begins without them.
  if (record.screenshots) await deps.pipelines.setScreenshots(id, null)
  return represent(record, view)
}

/** Screenshots carry the place; that the engine does not hold the pipeline right now is no reason to refuse a change. */
const tellLocation = (deps: PipelineDeps, id: string, geolocation: Geolocation | null): Promise<void> =>
  deps.screenshots
    .locate(id, { geolocation })
    .catch((cause: unknown) => deps.log.warn('pipeline_location_not_told', { id, error: messageOf(cause) }))

/**
 * Stores what the engine was last asked for. Plays and stops that end at the same time do so one after the other, each with
 * what holds by then, so that the last one leaves the truth. An engine that is gone is told what was stored before.
 */
const storeDesired = async (deps: PipelineDeps, id: string): Promise<void> => {
  try {
    await deps.changes(`${id} desired`, async () => {
      const { runtime } = await deps.engine.view(id)
      await deps.pipelines.setDesired(id, runtime.desired)
    })
  } catch (cause) {
    if (!isNotFound(cause)) deps.log.warn('pipeline_wish_not_stored', { id, error: messageOf(cause) })
  }
}

const findRecord = async (deps: PipelineDeps, id: string): Promise<PipelineRecord> => {
  const record = await deps.pipelines.find(id)
  if (record === undefined) throw unknown(id)
  return record
}

const checkDescription = async (deps: PipelineDeps, config: PipelineConfig): Promise<EngineCheck> => {
  const checked = await deps.engine.check(config)
  if (config.output !== null && !checked.publishes) {
    throw validationError('pipeline', [
      { path: 'output', message: 'The description names no element pay0, so there is nothing to publish' },
    ])
  }
  return checked
}

/** Runs an operation; a pipeline that is stored but that the engine lost is registered again first. */
const onEngine = async <T>(deps: PipelineDeps, id: string, operate: () => Promise<T>): Promise<T> => {
  try {
    return await operate()
  } catch (error) {
    if (!isNotFound(error)) throw error
    await deps.changes(id, async () => {
      const { config } = await findRecord(deps, id)
      await deps.engine.put(config, { create: true }).catch(ignoreConflict)
    })
    return operate()
  }
}

const putKnown = async (deps: PipelineDeps, record: PipelineRecord, config: PipelineConfig): Promise<PipelineConfig> => {
  try {
    return await deps.engine.put(config, { create: false })
  } catch (error) {
    if (!isNotFound(error)) throw error
    deps.log.warn('pipeline_was_lost', { id: record.config.id })
    return deps.engine.put(config, { create: true })
  }
}

const viewOrNotRunning = async (deps: PipelineDeps, record: PipelineRecord): Promise<PipelineView> => {
  try {
    return await deps.engine.view(record.config.id)
  } catch (error) {
    if (isNotFound(error)) return notRunning(record)
    throw error
  }
}

const notRunning = (record: PipelineRecord): PipelineView => absentView(record, DEFAULT_SETTINGS.screenshots)

const exists = (id: string) => new ApiError('CONFLICT', `A pipeline with the id ${id} exists already.`, { reason: 'exists' })
const unknown = (id: string) => new ApiError('NOT_FOUND', `There is no pipeline with the id ${id}.`)
const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.code === 'NOT_FOUND'
const ignoreNotFound = (error: unknown): void => {
  if (!isNotFound(error)) throw error
}
const ignoreConflict = (error: unknown): void => {
  if (!(error instanceof ApiError && error.code === 'CONFLICT')) throw error
}
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
