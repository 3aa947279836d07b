import type { Engine } from '../engine/protocol.ts'
import { ApiError, hasCode, messageOf } from '../errors.ts'
import { etagOf } from '../etag.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Licensing } from '../license/licensing.ts'
import type { Clock, Log } from '../ports.ts'
import type { PipelineRecord, PipelineRepository, SettingsRepository } from '../repositories/repositories.ts'
import { type PipelineConfig, startQuerySchema } from '../schema/pipeline.ts'
import { readSettings } from '../settings/settings.ts'
import { validate } from '../validate.ts'
import { checkDescription, parsePipeline } from './input.ts'
import { type PipelineRepresentation, represent } from './representation.ts'
import { restoreCredentials } from './restore-credentials.ts'

export interface CreateDeps {
  readonly engine: Engine
  readonly pipelines: PipelineRepository
  readonly settings: SettingsRepository
  readonly licensing: Licensing
  /** Changes of a pipeline run one after the other, so that engine and database agree. */
  readonly changes: KeyedQueue
  readonly clock: Clock
  readonly log: Log
}

/**
 * Starts a pipeline (unless it is on-demand), then stores it; a pipeline that does not start is not stored. With `start=background` it is
 * stored at once, and the engine goes on trying.
 */
export const createPipeline = async (
  deps: CreateDeps,
  input: unknown,
  query: Readonly<Record<string, unknown>>,
): Promise<PipelineRepresentation> => {
  const { start } = validate(startQuerySchema, query, 'query')
  const { config, geolocation } = parsePipeline(input, (await readSettings(deps.settings)).audio_default)
  return deps.changes(config.id, async () => {
    if ((await deps.pipelines.find(config.id)) !== undefined) throw pipelineExists(config.id)
    return addPipeline(deps, { config: restoreCredentials(config), geolocation, trigger_path: null }, { wait: start === 'wait' })
  })
}

/** Registers, starts (unless on-demand) and stores a new pipeline; all of it is undone when a step fails. */
export const addPipeline = async (
  deps: CreateDeps,
  { config, geolocation, trigger_path }: Pick<PipelineRecord, 'config' | 'geolocation' | 'trigger_path'>,
  { wait }: { readonly wait: boolean },
): Promise<PipelineRepresentation> => {
  const { codecs } = await checkDescription(deps.engine, config)
  const slot = config.on_demand ? await deps.licensing.requireCodecs(codecs) : await deps.licensing.takeSlot(config, codecs)
  try {
    const assigned = await deps.engine.put(config, { create: true })
    return await removeOnFailure(deps, config.id, async () => {
      const view = await registered(deps, assigned, () =>
        config.on_demand ? deps.engine.view(config.id) : deps.engine.play(config.id, { wait }),
      )
      const now = deps.clock.now()
      const desired = config.on_demand ? 'ready' : 'playing'
      const record: PipelineRecord = {
        config: assigned,
        geolocation,
        desired,
        stopped: false,
        recording: false,
        trigger_path,
        created_at: now,
        updated_at: now,
      }
      await insert(deps, record)
      return represent(record, view)
    })
  } finally {
    slot?.release()
  }
}

/** Stores nothing when it fails. */
const insert = async (deps: CreateDeps, record: PipelineRecord): Promise<void> => {
  try {
    await deps.pipelines.insert(record)
  } catch (error) {
    // CONFLICT: another process has stored a pipeline with this id.
    if (!hasCode(error, 'CONFLICT')) await removeStored(deps, record)
    throw error
  }
}

/** After a failed insert, whose answer may have been lost. */
const removeStored = async ({ pipelines, log }: CreateDeps, { config: { id }, created_at }: PipelineRecord): Promise<void> => {
  try {
    if ((await pipelines.find(id))?.created_at === created_at) await pipelines.remove(id)
  } catch (cause) {
    log.warn('pipeline_not_removed', { id, error: messageOf(cause) })
  }
}

/** Registers the pipeline again with an engine that has just replaced the one before: it is not stored yet. */
const registered = async <T>({ engine }: CreateDeps, config: PipelineConfig, operate: () => Promise<T>): Promise<T> => {
  try {
    return await operate()
  } catch (error) {
    if (!hasCode(error, 'NOT_FOUND')) throw error
    await engine.put(config, { create: true })
    return operate()
  }
}

const removeOnFailure = async <T>(deps: CreateDeps, id: string, run: () => Promise<T>): Promise<T> => {
  try {
    return await run()
  } catch (error) {
    await deps.engine
      .remove(id, { force: true })
      .catch((cause: unknown) => deps.log.warn('pipeline_not_removed', { id, error: messageOf(cause) }))
    throw error
  }
}

/**
 * A dry run of create or, where the id is stored, of replace, which restores masked credentials: the masked gst-launch line, or their
 * VALIDATION_ERROR.
 */
export const validatePipeline = async (
  { engine, pipelines, settings }: Pick<CreateDeps, 'engine' | 'pipelines' | 'settings'>,
  input: unknown,
) => {
  const { audio_default } = await readSettings(settings)
  const { id } = parsePipeline(input, audio_default).config
  const stored = await pipelines.find(id)
  const parsed = parsePipeline(input, stored?.config.audio ?? audio_default)
  const config = restoreCredentials(parsed.config, stored?.config)
  const { launch } = await checkDescription(engine, config)
  return { valid: true, launch, ...(stored !== undefined && { unchanged: await isStored(config, stored.config) }) }
}

/** A configuration without an output keeps the stored one. */
const isStored = async (config: PipelineConfig, stored: PipelineConfig): Promise<boolean> =>
  (await etagOf({ ...config, output: config.output ?? stored.output, ephemeral: stored.ephemeral })) === (await etagOf(stored))

const pipelineExists = (id: string) =>
  new ApiError('CONFLICT', `A pipeline with the id ${id} already exists. Use another id.`, { reason: 'exists' })
