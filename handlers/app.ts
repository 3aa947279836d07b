import { boundHasher } from '../lib/access/bounded-hasher.ts'
import { type ClientLimits, createClientLimits } from '../lib/access/client-limits.ts'
import type { CallerRules } from '../lib/access/foreign-origin.ts'
import { createRateLimiter, type RateLimiter } from '../lib/access/rate-limit.ts'
import type { SessionDeps } from '../lib/access/sessions.ts'
import { createStreams } from '../lib/access/streams.ts'
import { EngineMirror, readViews } from '../lib/engine/mirror.ts'
import type { Cameras, Engine, Klv, Live, Recordings, Screenshots } from '../lib/engine/protocol.ts'
import { createCameraWatch } from '../lib/events/cameras.ts'
import { createGeolocationRecorder, type GeolocationRecorder } from '../lib/events/geolocation.ts'
import { createEventHub } from '../lib/events/hub.ts'
import { withOtherWriters } from '../lib/events/other-writers.ts'
import { publishChanges } from '../lib/events/publish-changes.ts'
import { createKlvUpstreams } from '../lib/events/upstreams.ts'
import type { FleetHosts } from '../lib/fleet/fleet-hosts.ts'
import type { HealthDeps } from '../lib/health/health.ts'
import type { MetricsDeps } from '../lib/health/metrics.ts'
import { createKeyedQueue } from '../lib/keyed-queue.ts'
import type { LicenseSource } from '../lib/license/license.ts'
import { createLicensing } from '../lib/license/licensing.ts'
import type { ReconcileDeps } from '../lib/pipelines/reconcile.ts'
import type { Clock, Log, PasswordHasher, WriteState } from '../lib/ports.ts'
import type { CredentialRepository, PipelineRepository, SessionRepository, SettingsRepository } from '../lib/repositories/repositories.ts'
import type { MediaServer } from '../lib/schema/trigger.ts'
import type { SettingsDeps } from '../lib/settings/settings.ts'
import { createTriggers } from '../lib/triggers/triggers.ts'
import { authRoutes } from './auth.ts'
import { type CameraRouteDeps, cameraRoutes } from './cameras.ts'
import { type EventDeps, eventRoutes } from './events.ts'
import { fileRoutes } from './files.ts'
import { fleetRoutes } from './fleet/hosts.ts'
import { healthRoutes } from './health.ts'
import { withCors } from './http/cors.ts'
import { createGuard } from './http/guard.ts'
import { recordAnswers } from './http/record-answers.ts'
import type { FetchHandler } from './http/route.ts'
import { createRouter, type Router, type RouterDeps } from './http/router.ts'
import { type KlvRouteDeps, klvRoutes } from './klv.ts'
import { type LiveRouteDeps, liveRoutes } from './live.ts'
import { logRoutes } from './log.ts'
import { metricsRoutes } from './metrics.ts'
import { type PipelineRouteDeps, pipelineRoutes } from './pipelines.ts'
import { recordingRoutes } from './recordings.ts'
import { screenshotRoutes } from './screenshots.ts'
import { settingsRoutes } from './settings.ts'
import { type TriggerDeps, triggerRoutes } from './triggers.ts'

export type { FetchHandler, RequestContext, Route } from './http/route.ts'

/** What a host provides. */
export interface HostPorts extends MetricsDeps, CallerRules {
  readonly engine: Engine
  /** Like `engine`, but calls fail while the engine is started or replaced: for calls that the engine itself waits for. */
  readonly engineAtOnce?: Engine
  /** The views of the engine's pipelines, for a host that follows its engine; else every read asks the engine. */
  readonly mirror?: EngineMirror
  readonly screenshots: Screenshots
  readonly recordings: Recordings
  readonly klv: Klv
  readonly live: Live
  readonly cameras: Cameras
  readonly pipelines: PipelineRepository
  /** Whether other processes also write to the database. */
  readonly sharedDatabase?: boolean
  readonly settings: SettingsRepository
  readonly credentials: CredentialRepository
  readonly sessions: SessionRepository
  readonly hasher: PasswordHasher
  /** Whether the password may be changed, but not removed. */
  readonly passwordRequired?: boolean
  readonly license: LicenseSource
  /** The media server of triggered streams; 127.0.0.1:8554 by default. */
  readonly mediaServer?: MediaServer
  /** The key for automation and for the media server; never empty. */
  readonly apiKey: string
  readonly clock: Clock
  readonly log: Log
  readonly version: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly uptimeSeconds: HealthDeps['uptimeSeconds']
  readonly writeState?: () => Promise<WriteState>
  readonly freeBytes?: HealthDeps['freeBytes']
  readonly hasDroppedEvents?: HealthDeps['hasDroppedEvents']
  readonly fleet?: HealthDeps['fleet']
  /** The other hosts of the fleet; none on a host without a fleet. */
  readonly fleetHosts?: () => FleetHosts | undefined
  /** Origins whose pages may call the API; none by default. */
  readonly corsOrigins?: readonly string[]
  /** Counters of requests and streams per client; by default new ones. */
  readonly limiter?: RateLimiter
  readonly limits?: ClientLimits
  /** Whether the API can be reached from other hosts. */
  readonly isExposed?: () => boolean
  /** True once a shutdown was requested. */
  readonly isStopping?: () => boolean
  /** Aborts when the service stops; event streams end at once. */
  readonly stopping?: AbortSignal
}

/** All dependencies of the API; each group of routes uses a part of them. */
export interface AppDeps
  extends PipelineRouteDeps,
    SettingsDeps,
    SessionDeps,
    HealthDeps,
    RouterDeps,
    ReconcileDeps,
    KlvRouteDeps,
    LiveRouteDeps,
    CameraRouteDeps,
    EventDeps,
    TriggerDeps,
    MetricsDeps {
  readonly screenshots: Screenshots
  readonly recordings: Recordings
  readonly pipelines: PipelineRepository
  readonly geolocations: GeolocationRecorder
  readonly corsOrigins?: readonly string[]
}

const LOCAL_MEDIA_SERVER: MediaServer = { host: '127.0.0.1', port: 8554 }

/** The ports that every host provides. */
type NeededPort = keyof { [Name in keyof HostPorts as object extends Pick<HostPorts, Name> ? never : Name]: true }

const NEEDED: Readonly<Record<NeededPort, true>> = {
  engine: true,
  screenshots: true,
  recordings: true,
  klv: true,
  live: true,
  cameras: true,
  pipelines: true,
  settings: true,
  credentials: true,
  sessions: true,
  hasher: true,
  license: true,
  apiKey: true,
  clock: true,
  log: true,
  version: true,
  startedAt: true,
  uptimeSeconds: true,
}

/** In JavaScript, a missing port would otherwise fail at some request. */
const checkPorts = (ports: Partial<HostPorts> = {}): void => {
  const missing = (Object.keys(NEEDED) as NeededPort[]).filter((name) => ports[name] === undefined || ports[name] === '')
  if (missing.length > 0) throw new TypeError(`assemble needs more ports (HostPorts). Missing: ${missing.join(', ')}`)
}

/** Builds what groups of routes share: queues, counters, limits and the guard. Throws TypeError when a port is missing. */
export const assemble = (ports: HostPorts): AppDeps => {
  checkPorts(ports)
  const { clock, engine, license, limiter = createRateLimiter(clock), limits = createClientLimits(), mirror = new EngineMirror() } = ports
  const views = readViews(engine, mirror)
  const hub = createEventHub({ ...ports, views, mirror, engineAtOnce: ports.engineAtOnce ?? engine })
  const events = ports.sharedDatabase === true ? withOtherWriters(hub) : hub
  const klvUpstreams = createKlvUpstreams({ ...ports, events })
  const geolocations = createGeolocationRecorder(ports)
  const cameraWatch = createCameraWatch({ ...ports, events })
  const close = (): void => {
    for (const part of [events.feed, klvUpstreams, geolocations, cameraWatch]) part.close()
  }
  ports.stopping?.addEventListener('abort', close, { once: true })
  const shared = {
    ...ports,
    engine,
    views,
    pipelines: publishChanges(ports.pipelines, events),
    licensing: createLicensing({ source: license, engine, clock }),
    changes: createKeyedQueue(),
    unlicensed: new Set<string>(),
  }
  return {
    ...shared,
    events,
    triggers: createTriggers({ mediaServer: LOCAL_MEDIA_SERVER, ...shared }),
    klvUpstreams,
    cameraWatch,
    geolocations,
    hasher: boundHasher(ports.hasher),
    onAnswer: recordAnswers(ports),
    limits,
    streams: createStreams({ ...ports, limits }),
    guard: createGuard({ ...ports, limiter }),
  }
}

/** Every operation of the API. */
export const apiRoutes = (deps: AppDeps) => [
  ...healthRoutes(deps),
  ...authRoutes(deps),
  ...pipelineRoutes(deps),
  ...settingsRoutes(deps),
  ...triggerRoutes(deps),
  ...screenshotRoutes(deps),
  ...recordingRoutes(deps),
  ...klvRoutes(deps),
  ...liveRoutes(deps),
  ...cameraRoutes(deps),
  ...fileRoutes(deps),
  ...eventRoutes(deps),
  ...fleetRoutes(deps),
  ...logRoutes(deps),
  ...metricsRoutes(deps),
]

/** The whole API as one fetch handler. Throws TypeError for `deps` that `assemble` did not build. */
export const createApp = (deps: AppDeps): FetchHandler => createApi(deps).fetch

/** As `createApp`, with reads for hosts that make no Request and no Response for them. */
export const createApi = (deps: AppDeps): Router => {
  if (typeof (deps as Partial<AppDeps> | undefined)?.guard !== 'function')
    throw new TypeError('createApp needs the result of assemble: createApp(assemble(ports))')
  const { fetch, read } = createRouter(apiRoutes(deps), deps)
  return { fetch: withCors(fetch, deps.corsOrigins ?? []), read }
}
