import type { EngineStatus } from '../engine/messages.ts'
import type { Engine } from '../engine/protocol.ts'
import type { Licensing } from '../license/licensing.ts'
import type { WriteState } from '../ports.ts'
import type { CredentialRepository, PipelineRepository, SettingsRepository } from '../repositories/repositories.ts'
import type { FleetState, HealthWarning } from '../schema/health.ts'

export interface HealthDeps {
  readonly engine: Engine
  readonly pipelines: PipelineRepository
  readonly credentials: CredentialRepository
  readonly settings: SettingsRepository
  readonly licensing: Licensing
  /** Time since the start, by a monotonic clock. */
  readonly uptimeSeconds: () => number
  /** Whether the database accepts changes; left out where that cannot be tested. */
  readonly writeState?: () => Promise<WriteState>
  readonly version: string
  /** Free space for the data directory, bytes; left out where there is none. */
  readonly freeBytes?: (() => Promise<number>) | undefined
  /** Whether events for a receiver of webhooks were given up lately. */
  readonly hasDroppedEvents?: (() => boolean) | undefined
  /** Whether the host is in touch with its fleet; without one, off. */
  readonly fleet?: (() => FleetState) | undefined
  /** Whether the API can be reached from other hosts. */
  readonly isExposed?: () => boolean
  /** True once a shutdown was requested. */
  readonly isStopping?: () => boolean
}

const PRODUCT = 'video-pipeline-service'
const API_VERSION = '1'
/** With less, the database may soon refuse changes. */
const FULL_BYTES = 64e6

/** The state of engine and database; `degraded` when one of them is unavailable or the database accepts no changes. */
export const readHealth = async (deps: HealthDeps) => {
  const [engine, total, writes, license, isOpen, isFull] = await Promise.all([
    statusOf(deps.engine),
    readAll(deps),
    deps.writeState?.() ?? 'ok',
    deps.licensing.state(),
    isOpenToOthers(deps),
    isDiskFull(deps),
  ])
  const fleet = deps.fleet?.() ?? 'off'
  const warnings: HealthWarning[] = [
    ...(isOpen ? (['open_api'] as const) : []),
    ...(engine?.gstreamer_version === null ? (['gstreamer_missing'] as const) : []),
    ...(isFull ? (['disk_full'] as const) : []),
    ...(deps.hasDroppedEvents?.() === true ? (['webhook_events_dropped'] as const) : []),
    ...(engine?.warnings ?? []),
    ...(fleet === 'waiting' ? (['fleet_not_linked'] as const) : []),
  ]
  const engineWorks = engine?.gstreamer_version != null
  const database = total === undefined ? 'unavailable' : writes
  return {
    // A lock of another program passes.
    status: engineWorks && (database === 'ok' || database === 'busy') ? 'ok' : 'degraded',
    engine: engineWorks ? 'ok' : 'unavailable',
    database,
    uptime_seconds: Math.floor(deps.uptimeSeconds()),
    pipelines: { total: total ?? 0, playing: engine?.playing ?? 0 },
    fleet,
    ...(engine?.sandbox !== undefined && { sandbox: engine.sandbox }),
    ...(license.status === 'unlimited' ? {} : { license: license.status }),
    ...(warnings.length > 0 && { warnings }),
  }
}

/** Names and versions; the engine's is null while the engine is unavailable. */
export const readVersion = async (deps: HealthDeps) => {
  const engine = await statusOf(deps.engine)
  return {
    name: PRODUCT,
    version: deps.version,
    api_version: API_VERSION,
    engine: { name: 'gstreamer', version: engine?.gstreamer_version ?? null },
  }
}

/** Whether other hosts reach the API, and no password is set; false while the database is unavailable, which health shows too. */
const isOpenToOthers = async ({ isExposed, credentials }: HealthDeps): Promise<boolean> =>
  isExposed?.() === true &&
  (await credentials.find().then(
    (hash) => hash === undefined,
    () => false,
  ))

const isDiskFull = async ({ freeBytes }: HealthDeps): Promise<boolean> =>
  freeBytes !== undefined &&
  (await freeBytes().then(
    (bytes) => bytes < FULL_BYTES,
    () => false,
  ))

const statusOf = (engine: Engine): Promise<EngineStatus | undefined> => engine.status().catch(() => undefined)

/** The number of pipelines; undefined when the database does not answer, or its credential or settings cannot be read. */
const readAll = async ({ pipelines, credentials, settings }: HealthDeps): Promise<number | undefined> => {
  try {
    const [total] = await Promise.all([pipelines.count(), credentials.find(), settings.read()])
    return total
  } catch {
    return undefined
  }
}
