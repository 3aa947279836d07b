import type { Engine, Recordings, Screenshots } from '../engine/protocol.ts'
import { hasCode, messageOf } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Licensing } from '../license/licensing.ts'
import type { Log } from '../ports.ts'
import type { PipelineRecord, PipelineRepository, SettingsRepository } from '../repositories/repositories.ts'
import type { PipelineView } from '../schema/pipeline.ts'
import { forEngine, readSettings, refusedFields } from '../settings/settings.ts'

/**
 * Why engine and database are reconciled. service_start: both have just started. engine_restarted: the engine ended while the API ran.
 * engine_found: a new API process found a running engine.
 */
export type Occasion = 'service_start' | 'engine_restarted' | 'engine_found'

export interface ReconcileDeps {
  readonly engine: Engine
  readonly screenshots: Pick<Screenshots, 'start'>
  readonly recordings: Pick<Recordings, 'start' | 'stop'>
  readonly pipelines: PipelineRepository
  readonly settings: SettingsRepository
  readonly licensing: Licensing
  readonly changes: KeyedQueue
  /** Ids of pipelines whose start the license has refused; a new license starts them. */
  readonly unlicensed: Set<string>
  readonly log: Log
}

/**
 * Makes the engine match the database: sends settings and pipelines, starts those whose desired state is playing, and removes those
 * that are not stored. A pipeline that fails does not affect the others; SERVICE_UNAVAILABLE when the engine is gone.
 */
export const reconcile = async (deps: ReconcileDeps, when: Occasion): Promise<void> => {
  await deps.engine.configure(forEngine(await readSettings(deps.settings)))
  const fields = refusedFields(await deps.settings.read())
  if (fields.length > 0) deps.log.warn('settings_refused', { fields, advice: 'The defaults are used. Set them again (PUT /svc/settings).' })
  const [records, views] = await Promise.all([deps.pipelines.list(), deps.engine.list()])
  const known = new Map(views.map((view) => [view.id, view]))
  for (const { config } of records) {
    await logFailure(deps, config.id, () => settleInTurn(deps, when, config.id, known.get(config.id)))
    known.delete(config.id)
  }
  for (const id of known.keys()) await logFailure(deps, id, () => removeInTurn(deps, id))
}

const logFailure = async (deps: ReconcileDeps, id: string, work: () => Promise<void>): Promise<void> => {
  try {
    await work()
  } catch (error) {
    // Throws when the engine is gone: all other pipelines would fail too.
    await deps.engine.status()
    deps.log.warn('pipeline_not_reconciled', { id, error: messageOf(error) })
  }
}

/**
 * A running change of the pipeline may itself wait for the engine, so this does not wait for it: the pipeline is settled now, and again
 * after the change.
 */
const settleInTurn = async (deps: ReconcileDeps, when: Occasion, id: string, view: PipelineView | undefined): Promise<void> => {
  if (!deps.changes.isBusy(id)) return deps.changes(id, () => settle(deps, when, id, view))
  settleLater(deps, id)
  const record = await deps.pipelines.find(id)
  // The change may be a trigger that starts it again.
  if (record !== undefined && !isOrphaned(record, when, view)) await settle(deps, when, id, view)
}

/** A pipeline that only the engine knows may be in creation. */
const removeInTurn = async (deps: ReconcileDeps, id: string): Promise<void> => {
  if (deps.changes.isBusy(id)) settleLater(deps, id)
  else await deps.changes(id, () => removeUnstored(deps, id))
}

const settleLater = (deps: ReconcileDeps, id: string): void => {
  const settleAgain = async (): Promise<void> => {
    const view = (await deps.engine.list()).find((candidate) => candidate.id === id)
    if ((await deps.pipelines.find(id)) !== undefined) await settle(deps, 'engine_found', id, view)
    else if (view !== undefined) await removeUnstored(deps, id)
  }
  deps.changes(id, settleAgain).catch((error: unknown) => deps.log.warn('pipeline_not_reconciled', { id, error: messageOf(error) }))
}

const settle = async (deps: ReconcileDeps, when: Occasion, id: string, view: PipelineView | undefined): Promise<void> => {
  const record = await deps.pipelines.find(id)
  if (record === undefined) return
  if (isOrphaned(record, when, view)) return remove(deps, id, view)
  if (view === undefined) {
    await deps.engine.put(record.config, { create: true, stored: true })
    await settleRecording(deps, record)
    return start(deps, record, when)
  }
  // Completes a replacement that was interrupted between database and engine; a running pipeline is left as it is.
  await deps.engine.put(record.config, { create: false, stored: true }).catch(ignoreRunning)
  await settleRecording(deps, record, view)
  // The engine does not know of starts that the license has refused.
  const { desired } = view.runtime
  if (desired === record.desired || deps.unlicensed.has(id)) return
  await deps.pipelines.setDesired(id, desired, desired === 'ready' && record.stopped)
}

/** A recording was started or stopped, or the engine is another one. Where that fails, the pipeline plays all the same. */
const settleRecording = async (deps: ReconcileDeps, { config: { id }, recording }: PipelineRecord, view?: PipelineView): Promise<void> => {
  if (recording === (view !== undefined && view.recording.state !== 'stopped')) return
  await (recording ? deps.recordings.start(id) : deps.recordings.stop(id)).catch((error: unknown) =>
    deps.log.warn('recording_not_reconciled', { id, error: messageOf(error) }),
  )
}

/** A triggered pipeline ends with the service that has created it, unless an engine still runs it and it has not failed. */
const isOrphaned = ({ config }: PipelineRecord, when: Occasion, view: PipelineView | undefined): boolean =>
  config.ephemeral && (when === 'service_start' || (when === 'engine_found' && view === undefined) || view?.runtime.phase === 'failed')

const remove = async (deps: ReconcileDeps, id: string, view: PipelineView | undefined): Promise<void> => {
  if (view !== undefined) await deps.engine.remove(id, { force: true })
  await deps.pipelines.remove(id)
}

const removeUnstored = async (deps: ReconcileDeps, id: string): Promise<void> => {
  if ((await deps.pipelines.find(id)) === undefined) await deps.engine.remove(id, { force: true })
}

/** After a change of the license: starts the pipelines that it had refused and that are still to play; failures are logged. */
export const startUnlicensed = async (deps: ReconcileDeps): Promise<void> => {
  const refused = [...deps.unlicensed]
  deps.unlicensed.clear()
  for (const id of refused) {
    await deps
      .changes(id, async () => {
        const record = await deps.pipelines.find(id)
        if (record?.desired === 'playing') await start(deps, record, 'engine_restarted')
      })
      .catch((error: unknown) => deps.log.warn('pipeline_not_started', { id, error: messageOf(error) }))
  }
}

const start = async (deps: ReconcileDeps, record: PipelineRecord, when: Occasion): Promise<void> => {
  const { config, desired, stopped } = record
  const plays = when === 'engine_restarted' ? desired === 'playing' : !(config.on_demand || stopped)
  if (plays !== (desired === 'playing')) await deps.pipelines.setDesired(config.id, plays ? 'playing' : 'ready', stopped)
  if (!plays) return void (record.screenshots && (await deps.pipelines.setScreenshots(config.id, null)))
  const slot = await deps.licensing.takeSlot(config).catch((error: unknown) => {
    if (hasCode(error, 'LICENSE_ERROR') || hasCode(error, 'LICENSE_LIMIT_EXCEEDED')) deps.unlicensed.add(config.id)
    throw error
  })
  try {
    // The engine itself retries with backoff.
    await deps.engine.play(config.id, { wait: false })
  } finally {
    slot.release()
  }
  if (record.screenshots) {
    await deps.screenshots.start(config.id, { ...record.screenshots, geolocation: record.geolocation }, { resume: true })
  }
}

const ignoreRunning = (error: unknown): void => {
  if (!hasCode(error, 'CONFLICT')) throw error
}
