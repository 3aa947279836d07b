import type { Engine, Screenshots } from '../engine/protocol.ts'
import { hasCode, messageOf } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Clock, Log } from '../ports.ts'
import type { PipelineRecord, PipelineRepository } from '../repositories.ts'
import { type Geolocation, type PipelineConfig, pipelinePatchSchema } from '../schema/pipeline.ts'
import { validate } from '../validate.ts'
import { findRecord, findView, pipelineNotFound } from './find.ts'
import { checkDescription, parsePipeline } from './input.ts'
import { type PipelineRepresentation, represent } from './representation.ts'
import { restoreCredentials } from './restore-credentials.ts'

export interface ChangeDeps {
  readonly engine: Engine
  readonly screenshots: Pick<Screenshots, 'locate'>
  readonly pipelines: PipelineRepository
  readonly changes: KeyedQueue
  readonly clock: Clock
  readonly log: Log
}

/** Replaces the configuration of a pipeline and does not start it; CONFLICT while it runs. */
export const replacePipeline = async (deps: ChangeDeps, id: string, input: unknown): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findRecord(deps.pipelines, id)
    const parsed = parsePipeline(input, id)
    const requested = restoreCredentials({ ...parsed.config, ephemeral: record.config.ephemeral }, record.config)
    const { publishes } = await checkDescription(deps.engine, requested)
    // A configuration without an output keeps the address that its readers use.
    const config = requested.output === null && publishes ? { ...requested, output: record.config.output } : requested
    const assigned = await putOrCreate(deps, record, config)
    const change = { config: assigned, geolocation: parsed.geolocation, updated_at: deps.clock.now() }
    try {
      if (!(await deps.pipelines.replace(id, change))) throw pipelineNotFound(id)
    } catch (error) {
      await deps.engine
        .put(record.config, { create: false })
        .catch((cause: unknown) => deps.log.warn('pipeline_not_restored', { id, error: messageOf(cause) }))
      throw error
    }
    await locateScreenshots(deps, id, change.geolocation)
    const changed = { ...record, ...change }
    return represent(changed, await findView(deps.engine, changed))
  })

/** Sets or removes (null) the geolocation, also while the pipeline plays. */
export const patchPipeline = async (deps: ChangeDeps, id: string, input: unknown): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findRecord(deps.pipelines, id)
    const { geolocation } = validate(pipelinePatchSchema, input, 'change')
    const view = await findView(deps.engine, record)
    const updated_at = deps.clock.now()
    if (!(await deps.pipelines.setGeolocation(id, geolocation, updated_at))) throw pipelineNotFound(id)
    await locateScreenshots(deps, id, geolocation)
    return represent({ ...record, geolocation, updated_at }, view)
  })

/** Deletes a pipeline and keeps its screenshots; CONFLICT while it runs. */
export const deletePipeline = async (deps: ChangeDeps, id: string): Promise<void> =>
  deps.changes(id, async () => {
    await findRecord(deps.pipelines, id)
    await deps.engine.remove(id, { force: false }).catch(ignoreNotFound)
    await deps.pipelines.remove(id)
  })

const putOrCreate = async (deps: ChangeDeps, record: PipelineRecord, config: PipelineConfig): Promise<PipelineConfig> => {
  try {
    return await deps.engine.put(config, { create: false })
  } catch (error) {
    if (!hasCode(error, 'NOT_FOUND')) throw error
    deps.log.warn('pipeline_lost', { id: record.config.id })
    return deps.engine.put(config, { create: true })
  }
}

/** Screenshots carry the geolocation; an engine that is unavailable or does not know the pipeline does not prevent the change. */
const locateScreenshots = (deps: ChangeDeps, id: string, geolocation: Geolocation | null): Promise<void> =>
  deps.screenshots
    .locate(id, { geolocation })
    .catch((cause: unknown) => deps.log.warn('screenshots_not_located', { id, error: messageOf(cause) }))

const ignoreNotFound = (error: unknown): void => {
  if (!hasCode(error, 'NOT_FOUND')) throw error
}
