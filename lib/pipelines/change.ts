import type { Engine, Screenshots } from '../engine/protocol.ts'
import { hasCode, messageOf } from '../errors.ts'
import { requireMatch } from '../etag.ts'
import { orderedJson } from '../json/ordered-json.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Clock, Log } from '../ports.ts'
import type { PipelineRecord, PipelineRepository } from '../repositories/repositories.ts'
import { type Geolocation, type PipelineConfig, pipelinePatchSchema } from '../schema/pipeline.ts'
import { validate } from '../validate.ts'
import { findRecord, findView, pipelineNotFound } from './find.ts'
import { checkDescription, parsePipeline } from './input.ts'
import { etagOfPipeline, idleView, type PipelineRepresentation, represent } from './representation.ts'
import { restoreCredentials } from './restore-credentials.ts'

export interface ChangeDeps {
  readonly engine: Engine
  readonly screenshots: Pick<Screenshots, 'locate'>
  readonly pipelines: PipelineRepository
  readonly changes: KeyedQueue
  readonly clock: Clock
  readonly log: Log
}

/** Replaces the configuration of a pipeline without starting it; CONFLICT while it runs, PRECONDITION_FAILED after another change. */
export const replacePipeline = async (
  deps: ChangeDeps,
  id: string,
  input: unknown,
  ifMatch: string | null = null,
): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findMatching(deps, id, ifMatch)
    const parsed = parsePipeline(input, record.config.audio, id)
    const requested = restoreCredentials({ ...parsed.config, ephemeral: record.config.ephemeral }, record.config)
    const { publishes } = await checkDescription(deps.engine, requested)
    // A configuration without an output keeps the address that its readers use.
    const config = requested.output === null && publishes ? { ...requested, output: record.config.output } : requested
    const assigned = await putOrCreate(deps, record, config)
    const change = { config: assigned, geolocation: parsed.geolocation, updated_at: nextUpdate(deps, record) }
    if (isSame(change, record)) return represent(record, await findView(deps.engine, record))
    try {
      if (!(await deps.pipelines.replace(id, change))) throw pipelineNotFound(id)
    } catch (error) {
      await restore(deps, record, { create: false })
      throw error
    }
    if (change.geolocation !== null || record.geolocation !== null) await locateScreenshots(deps, id, change.geolocation)
    const changed = { ...record, ...change }
    return represent(changed, await findView(deps.engine, changed))
  })

/** Whether a change changes nothing: the pipeline then keeps its ETag. */
const isSame = (change: Pick<PipelineRecord, 'config' | 'geolocation'>, { config, geolocation }: PipelineRecord): boolean =>
  orderedJson([change.config, change.geolocation]) === orderedJson([config, geolocation])

/** Gives the engine the stored configuration after a failed change: engine or database may have made it, and the answer was lost. */
const restore = async (deps: ChangeDeps, before: PipelineRecord, { create }: { readonly create: boolean }): Promise<void> => {
  const { id } = before.config
  try {
    const stored = await deps.pipelines.find(id).catch(() => before)
    if (stored === undefined) await deps.engine.remove(id, { force: false }).catch(ignoreNotFound)
    else await deps.engine.put(stored.config, { create, stored: true })
  } catch (cause) {
    deps.log.warn('pipeline_not_restored', { id, error: messageOf(cause) })
  }
}

/** Sets or removes (null) the geolocation, also while the pipeline plays. */
export const patchPipeline = async (
  deps: ChangeDeps,
  id: string,
  input: unknown,
  ifMatch: string | null = null,
): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findMatching(deps, id, ifMatch)
    const { geolocation } = validate(pipelinePatchSchema, input, 'change')
    const view = await findView(deps.engine, record)
    if (isSame({ config: record.config, geolocation }, record)) return represent(record, view)
    const updated_at = nextUpdate(deps, record)
    if (!(await deps.pipelines.setGeolocation(id, geolocation, updated_at))) throw pipelineNotFound(id)
    await locateScreenshots(deps, id, geolocation)
    return represent({ ...record, geolocation, updated_at }, view)
  })

/** Deletes a pipeline and keeps its screenshots; CONFLICT while it runs. */
export const deletePipeline = async (deps: ChangeDeps, id: string, ifMatch: string | null = null): Promise<void> =>
  deps.changes(id, async () => {
    const record = await findMatching(deps, id, ifMatch)
    await deps.engine.remove(id, { force: false }).catch(ignoreNotFound)
    try {
      await deps.pipelines.remove(id)
    } catch (error) {
      await restore(deps, record, { create: true })
      throw error
    }
  })

/** The stored pipeline, if it matches `ifMatch`. Called in the queue of changes, so that no other change comes before the write. */
const findMatching = async (deps: ChangeDeps, id: string, ifMatch: string | null): Promise<PipelineRecord> => {
  const record = await findRecord(deps.pipelines, id)
  if (ifMatch !== null) requireMatch(ifMatch, await etagOfPipeline(represent(record, idleView(record))), 'pipeline')
  return record
}

/** Now, but later than the change before even when the clock was set back, so that each change has its own ETag. */
const nextUpdate = ({ clock }: ChangeDeps, record: PipelineRecord): number => Math.max(clock.now(), record.updated_at + 1)

const putOrCreate = async (deps: ChangeDeps, record: PipelineRecord, config: PipelineConfig): Promise<PipelineConfig> => {
  try {
    return await deps.engine.put(config, { create: false })
  } catch (error) {
    if (!hasCode(error, 'NOT_FOUND')) throw error
    deps.log.warn('pipeline_lost', { id: record.config.id })
    return deps.engine.put(config, { create: true })
  }
}

/** Screenshots carry the geolocation. An engine that is unavailable or does not know the pipeline does not prevent the change. */
const locateScreenshots = (deps: ChangeDeps, id: string, geolocation: Geolocation | null): Promise<void> =>
  deps.screenshots
    .locate(id, { geolocation })
    .catch((cause: unknown) => deps.log.warn('screenshots_not_located', { id, error: messageOf(cause) }))

const ignoreNotFound = (error: unknown): void => {
  if (!hasCode(error, 'NOT_FOUND')) throw error
}
