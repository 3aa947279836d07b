import type { Engine, Screenshots } from '../engine/protocol.ts'
import { ApiError } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Licensing } from '../license/license.ts'
import type { Log } from '../ports.ts'
import type { PipelineRecord, PipelineRepository, SettingsRepository } from '../repositories.ts'
import type { PipelineView } from '../schema/pipeline.ts'
import { readSettings } from '../settings.ts'

/**
 * service_start: a new service with a new engine. engine_restarted: the engine died while the API lived.
 * engine_found: a living engine was taken over after the API died.
 */
export type Occasion = 'service_start' | 'engine_restarted' | 'engine_found'

export interface ReconcileDeps {
  readonly engine: Engine
  readonly screenshots: Pick<Screenshots, 'start'>
  readonly pipelines: PipelineRepository
  readonly settings: SettingsRepository
  readonly licensing: Licensing
  readonly changes: KeyedQueue
  readonly log: Log
}

/**
 * Brings engine and database to agreement: hands over settings and pipelines, starts what is wanted and
 * forgets what nobody stored. One pipeline that fails never keeps the others; SERVICE_UNAVAILABLE when the engine is gone.
 */
export const reconcile = async (deps: ReconcileDeps, when: Occasion): Promise<void> => {
  await deps.engine.configure(await readSettings(deps.settings))
  const [records, views] = await Promise.all([deps.pipelines.list(), deps.engine.list()])
  const held = new Map(views.map((view) => [view.id, view]))
  for (const { config } of records) {
    await oneOf(deps, config.id, () => settle(deps, when, config.id, held.get(config.id)))
    held.delete(config.id)
  }
  for (const id of held.keys()) await oneOf(deps, id, () => forgetStranger(deps, id))
}

const oneOf = async (deps: ReconcileDeps, id: string, work: () => Promise<void>): Promise<void> => {
  try {
    await deps.changes(id, work)
  } catch (error) {
    // A pipeline's own trouble is logged; that the engine is gone would be the trouble of all that follow.
    await deps.engine.status()
    deps.log.warn('pipeline_not_reconciled', { id, error: error instanceof Error ? error.message : String(error) })
  }
}

const settle = async (deps: ReconcileDeps, when: Occasion, id: string, view: PipelineView | undefined): Promise<void> => {
  const record = await deps.pipelines.find(id)
  if (record === undefined) return
  if (hasOutlivedItsService(record, when, view)) return forget(deps, id, view)
  if (view === undefined) {
    await deps.engine.put(record.config, { create: true })
    return start(deps, record, when)
  }
  // The engine keeps what it does; only a replacement that was cut short is made up for.
  await deps.engine.put(record.config, { create: false }).catch(ignoreRunning)
  if (view.runtime.desired !== record.desired) await deps.pipelines.setDesired(id, view.runtime.desired)
}

/** Pipelines of triggers live as long as the service that took the trigger, or the engine that still plays them and has not given up. */
const hasOutlivedItsService = ({ config }: PipelineRecord, when: Occasion, view: PipelineView | undefined): boolean =>
  config.ephemeral && (when === 'service_start' || (when === 'engine_found' && view === undefined) || view?.runtime.phase === 'failed')

const forget = async (deps: ReconcileDeps, id: string, view: PipelineView | undefined): Promise<void> => {
  if (view !== undefined) await deps.engine.remove(id, { force: true })
  await deps.pipelines.remove(id)
}

const forgetStranger = async (deps: ReconcileDeps, id: string): Promise<void> => {
  if ((await deps.pipelines.find(id)) === undefined) await deps.engine.remove(id, { force: true })
}

const start = async (deps: ReconcileDeps, record: PipelineRecord, when: Occasion): Promise<void> => {
  const { config, desired } = record
  const wanted = when === 'engine_restarted' ? desired === 'playing' : !config.on_demand
  if (wanted !== (desired === 'playing')) await deps.pipelines.setDesired(config.id, wanted ? 'playing' : 'ready')
  if (!wanted) return void (record.screenshots && (await deps.pipelines.setScreenshots(config.id, null)))
  const slot = await deps.licensing.admit(config)
  try {
    // The engine retries with backoff by itself.
    await deps.engine.play(config.id, { wait: false })
  } finally {
    slot.release()
  }
  if (record.screenshots) {
    await deps.screenshots.start(config.id, { ...record.screenshots, geolocation: record.geolocation }, { resume: true })
  }
}

const ignoreRunning = (error: unknown): void => {
  if (!(error instanceof ApiError && error.code === 'CONFLICT')) throw error
}
