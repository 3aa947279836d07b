import type { IncomingMessage, ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import { isPasswordRequired } from '../../lib/access/initial-password.ts'
import { isAuthEnabled } from '../../lib/access/sessions.ts'
import { type Configuration, readConfiguration } from '../../lib/configuration/configuration.ts'
import type { LicenseSource } from '../../lib/license/license.ts'
import { createLicensing } from '../../lib/license/licensing.ts'
import { createLicenseSender } from '../../lib/license/send-to-engine.ts'
import { createLineWriter, createLog } from '../../lib/log/log.ts'
import { terminalStyle } from '../../lib/log/log-text.ts'
import { reconcile, startUnlicensed } from '../../lib/pipelines/reconcile.ts'
import type { Log, PasswordHasher } from '../../lib/ports.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type AppDeps, assemble, createApi, type FetchHandler, type HostPorts } from '../app.ts'
import { openPages } from './dashboard-files.ts'
import type { Fleet } from './fleet/fleet.ts'
import { createLicenseFile } from './license-file.ts'
import type { LinkOptions } from './link/engine-link.ts'
import { createServiceEngine, type ServiceEngine } from './link/service-engine.ts'
import { createPathWatch, type PathWatch } from './media-server.ts'
import { createApiMetrics } from './metrics.ts'
import { createPasswordHasher } from './password-hasher.ts'
import { createRequestListener } from './server/http-server.ts'
import { openStores, type Stores } from './storage/stores.ts'
import { createServiceWebhooks, notifySettings, type ServiceWebhooks } from './webhooks.ts'

const clock = { now: () => Date.now() }

/** The API with its database and its engine, without an HTTP server. */
export interface Service {
  /** Answers requests for /svc/…; 503 where the engine is needed and not ready. */
  readonly app: FetchHandler
  /** `app` for node:http, with the checks that are not possible in a fetch handler. */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void
  /** The dependencies of the route groups. */
  readonly deps: AppDeps
  readonly apiKey: string
  readonly dataDir: string
  /** Finds or starts the engine; settles when it is ready or the first attempt has failed (attempts continue). */
  connect(): Promise<void>
  /** Says that other hosts reach the API at this address: health and the log then warn while no password is set. */
  expose(url: string): Promise<void>
  /** Ends event streams and lets healthz answer 503; call before `stop` or `leave`. */
  prepareToStop(): void
  /** Ends event streams and an own engine with its pipelines, and closes the database. */
  stop(): Promise<void>
  /** As `stop`, but the engine and its pipelines continue; the next service on this data directory finds them. */
  leave(): Promise<void>
  /** Kills an own engine, and its pipelines with it: for a `stop` that takes too long. */
  killEngine(): void
}

export interface OpenOptions {
  readonly log: Log
  /** Asks the process that uses the data directory to hand over. */
  readonly takeOver?: boolean
  /** Another process asks for the data directory; by default the service leaves. */
  readonly onHandover?: () => void
  /** The environment of an own engine. */
  readonly environment?: NodeJS.ProcessEnv
}

export interface CreateOptions {
  /** The variables of `--help`; those of the process by default. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** One JSON line per event; standard error by default, as text if that is a terminal. */
  readonly writeLog?: (line: string) => void
}

/** Opens the service with its engine, for embedding. Throws when a variable is wrong, the data directory is in use or the database is unusable. */
export const createService = async ({ environment = process.env, writeLog }: CreateOptions = {}): Promise<Service> => {
  const configuration = readConfiguration(environment)
  if ('mistakes' in configuration) throw new Error(configuration.mistakes.join('\n'))
  const log = createServiceLog(configuration, writeLog)
  const service = await openService(configuration, { log, environment: { ...process.env, ...environment } })
  await service.connect()
  return service
}

/** Standard error: text on a terminal, else JSON lines as for a writer that is given. */
export const createServiceLog = ({ logLevel: level }: Configuration, writeLog?: (line: string) => unknown): Log => {
  const write = writeLog ?? createLineWriter(process.stderr, (lines) => log.warn('log_lines_dropped', { lines }))
  const text = writeLog === undefined ? terminalStyle(process.stderr, process.env) : undefined
  const log = createLog({ level, clock, write: (line) => void write(line), fields: { process: 'api' }, text })
  return log
}

/** Opens data directory and database and builds the handlers; `connect` adds the engine. */
export const openService = async (configuration: Configuration, options: OpenOptions): Promise<Service> => {
  const { log, takeOver = false, environment = process.env } = options
  const declared = configuration.pipelinesFile === undefined ? undefined : await readDeclared(configuration.pipelinesFile)
  const joinFleet = await loadFleet(configuration)
  const withPages = openPages(configuration)
  const hasher = createPasswordHasher()
  let service: Service | undefined
  const onHandover = options.onHandover ?? ((): void => void service?.leave())
  const stores = await openStores(configuration, { hasher, clock, log, takeOver, onHandover })
  const engine = createServiceEngine(configuration, { dataDir: stores.dataDir, environment })
  service = createServiceOf(configuration, { log, declared, joinFleet, withPages, hasher, stores, engine })
  return service
}

interface Parts {
  readonly log: Log
  readonly declared: Awaited<ReturnType<typeof readDeclared>> | undefined
  readonly joinFleet: Awaited<ReturnType<typeof loadFleet>>
  readonly withPages: ReturnType<typeof openPages>
  readonly hasher: PasswordHasher
  readonly stores: Stores
  readonly engine: ServiceEngine
}

const createServiceOf = (configuration: Configuration, parts: Parts): Service => {
  const { log, joinFleet, withPages, stores, engine } = parts
  const { apiKey, dataDir } = stores
  const stopping = new AbortController()
  const { signal } = stopping
  let exposed = false
  const ports = portsOf(configuration, parts)
  const deps: AppDeps = assemble({
    ...ports,
    settings: notifySettings(ports.settings, () => {
      webhooks.onSettings()
      fleet?.onSettings()
    }),
    hasDroppedEvents: () => webhooks.hasDropped,
    fleet: () => fleet?.state() ?? 'off',
    fleetHosts: () => fleet?.hosts,
    metrics: createApiMetrics({ sseClients: () => deps.events.feed.subscriberCount() - followers() }),
    isExposed: () => exposed,
    isStopping: () => signal.aborted,
    stopping: signal,
  })
  const webhooks: ServiceWebhooks = createServiceWebhooks({ deps, dataDir, sharedDatabase: stores.repositories.sharedDatabase, signal })
  const followers = (): number => (webhooks.isFollowing ? 1 : 0) + (fleet === undefined ? 0 : 1)
  const { fetch, read } = createApi(deps)
  const app = withPages(fetch, deps)
  const fleet: Fleet | undefined = joinFleet?.({ deps, app: fetch, apiKey, dataDir, log, stopping: signal })
  const paths = createPathWatch(configuration, { triggers: deps.triggers, log, signal })
  const prepareToStop = (): void => {
    stopping.abort()
    engine.refuseToWait()
  }
  const connect = once(async () => {
    const started = start(parts, { deps, source: ports.license, paths, webhooks, app, signal })
    // What is desired is applied after that; the link need not wait.
    fleet?.begin(started)
    await started
  })
  const end = once(async (how: 'stop' | 'leave') => {
    prepareToStop()
    await engine.end(how)
    await Promise.all([paths.ended(), fleet?.ended()])
    await webhooks.end()
    await stores.close()
  })
  const expose = async (url: string): Promise<void> => {
    exposed = true
    if (!(await isAuthEnabled(deps))) log.warn('open_api_exposed', { url, advice: OPEN_API })
  }
  const listener = createRequestListener({ app, read, trustProxy: configuration.trustProxy, log })
  const ends = { prepareToStop, stop: () => end('stop'), leave: () => end('leave'), killEngine: engine.kill }
  return { app, listener, deps, apiKey, dataDir, connect, expose, ...ends }
}

interface Starting extends Followers {
  readonly webhooks: ServiceWebhooks
  readonly app: FetchHandler
  readonly signal: AbortSignal
}

const start = async (parts: Parts, { webhooks, app, signal, ...followers }: Starting): Promise<void> => {
  const { log, engine, declared, stores } = parts
  await webhooks.begin()
  await engine.connect({ log, ...engineHandlers(parts, followers) })
  // What the last service left behind is removed by then.
  followers.paths.begin()
  await declared?.apply({ app, apiKey: stores.apiKey, log, stopping: signal })
}

/** Calls a function the first time only. */
const once = <Args extends readonly unknown[], T>(call: (...args: Args) => T): ((...args: Args) => T) => {
  let answer: { readonly value: T } | undefined
  return (...args) => {
    answer ??= { value: call(...args) }
    return answer.value
  }
}

const portsOf = (configuration: Configuration, { log, hasher, stores, engine: { client, clientAtOnce, mirror } }: Parts): HostPorts => {
  const { corsOrigins, allowedHosts, trustProxy, mediaServer } = configuration
  const { engine, screenshots, recordings, klv, live, cameras } = client
  const begun = performance.now()
  return {
    ...stores.repositories,
    ...{ corsOrigins, allowedHosts, trustProxy, mediaServer },
    ...{ engine, screenshots, recordings, klv, live, cameras, mirror, clock, log, hasher },
    engineAtOnce: clientAtOnce.engine,
    engineMetrics: client.metrics.read,
    freeBytes: stores.freeBytes,
    hostNames: ownNames(),
    passwordRequired: isPasswordRequired(configuration),
    license: createLicenseFile(configuration.licenseFile),
    apiKey: stores.apiKey,
    version: packageJson.version,
    startedAt: clock.now(),
    uptimeSeconds: () => (performance.now() - begun) / 1000,
  }
}
interface Followers {
  readonly deps: AppDeps
  readonly source: LicenseSource
  readonly paths: PathWatch
}

const engineHandlers = (
  { log, declared, engine: { mirror, client } }: Parts,
  { deps, source, paths }: Followers,
): Pick<LinkOptions, 'onReady' | 'onEvent'> => {
  const license = createLicenseSender({ source, clock, log })
  const onLicense = (): Promise<void> => {
    declared?.licenseChanged()
    return startUnlicensed(deps)
  }
  return {
    // The API uses the engine only after this.
    onReady: async (direct, occasion) => {
      const { engine, screenshots, recordings } = direct
      await license.send(direct)
      await reconcile({ ...deps, engine, screenshots, recordings, licensing: createLicensing({ source, engine, clock }) }, occasion)
      await deps.events.resync(await mirror.fill(() => engine.list()))
    },
    onEvent: (event) => {
      // First, since others read views of it.
      if (mirror.push(event)) mirror.fill(client.engine.list).catch((error: unknown) => log.warn('engine_not_listed', { error }))
      if (event.type === 'heartbeat') void license.refresh().then((isNew) => (isNew ? onLicense() : undefined))
      deps.events.push(event)
      deps.geolocations.push(event)
      deps.triggers.onEvent(event)
      paths.onEvent(event)
    },
  }
}

/** Loaded only where it is used: a reader of YAML takes a while to load. */
const readDeclared = async (place: string) => {
  const { readDeclaredPipelines } = await import('./declared/declared-pipelines.ts')
  return readDeclaredPipelines(place)
}

/** As above: without a fleet, nothing of it takes memory. */
const loadFleet = async (configuration: Configuration) => {
  if (configuration.nats === undefined) return undefined
  const { openFleet } = await import('./fleet/fleet.ts')
  return openFleet(configuration, configuration.nats)
}

const OPEN_API =
  'Other hosts reach this API and no password is set, so everyone may do everything. Set one (PUT /svc/auth/password), or set SVC_HOST=127.0.0.1.'

/** The name of this host, also as multicast DNS writes it. */
const ownNames = (): readonly string[] => {
  const name = hostname().toLowerCase()
  return name.includes('.') ? [name] : [name, `${name}.local`]
}
