import type { IncomingMessage, ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createCredentialRepository } from '../../db/credential.ts'
import { openDatabase } from '../../db/open.ts'
import { createPipelineRepository } from '../../db/pipelines.ts'
import { createSessionRepository } from '../../db/sessions.ts'
import { createSettingsRepository } from '../../db/settings.ts'
import { keepCredentialInMemory, keepPipelinesInMemory } from '../../db/write-through.ts'
import { type Configuration, readConfiguration } from '../../lib/configuration.ts'
import { createCamerasClient } from '../../lib/engine/cameras-client.ts'
import { createEngineCaller, createEngineClient } from '../../lib/engine/client.ts'
import { createKlvClient } from '../../lib/engine/klv-client.ts'
import { createScreenshotsClient } from '../../lib/engine/screenshots-client.ts'
import { createLicensing } from '../../lib/license/licensing.ts'
import { createLicenseSender } from '../../lib/license/send-to-engine.ts'
import { createLog } from '../../lib/log.ts'
import { createEngineMetrics } from '../../lib/metrics.ts'
import { reconcile } from '../../lib/pipelines/reconcile.ts'
import type { Log } from '../../lib/ports.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type AppDeps, assemble, createApp, type FetchHandler } from '../app.ts'
import { openDataDirectory, readOrCreateApiKey } from './data-directory.ts'
import { createRequestListener } from './http-server.ts'
import { takeInstanceLock } from './instance-lock.ts'
import { createLicenseFile } from './license-file.ts'
import type { EngineLink, LinkOptions } from './link/keep-link.ts'
import { linkRemoteEngine } from './link/remote.ts'
import { keepSidecar } from './link/sidecar.ts'
import { createApiMetrics } from './metrics.ts'
import { createPasswordHasher } from './password-hasher.ts'

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
  /** Ends event streams and lets healthz answer 503; call before `stop` or `leave`. */
  prepareToStop(): void
  /** Ends event streams and an own engine with its pipelines, and closes the database. */
  stop(): Promise<void>
  /** As `stop`, but the engine and its pipelines continue; the next service on this data directory finds them. */
  leave(): Promise<void>
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
  /** One JSON line per event; standard error by default. */
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

export const createServiceLog = (
  { logLevel: level }: Configuration,
  write = (line: string): unknown => process.stderr.write(`${line}\n`),
): Log => createLog({ level, clock, write: (line) => void write(line), fields: { process: 'api' } })

/** Opens data directory and database and builds the handlers; `connect` adds the engine. */
export const openService = async (configuration: Configuration, options: OpenOptions): Promise<Service> => {
  const { log, takeOver = false } = options
  const dataDir = openDataDirectory(configuration.dataDir)
  let onHandover = options.onHandover ?? ((): void => {})
  const lock = await takeInstanceLock(dataDir, { takeOver, onHandover: () => onHandover() })
  const apiKey = configuration.apiKey ?? readOrCreateApiKey(dataDir).key
  const { repositories, close: closeDatabase } = await openRepositories(configuration, dataDir)
  const stopping = new AbortController()
  let link: EngineLink | undefined
  const caller = createEngineCaller({
    address: () => link?.address(),
    fetch: (url, init) => (link?.fetch ?? fetch)(url, init),
  })
  const ports = {
    ...repositories,
    engine: createEngineClient(caller),
    screenshots: createScreenshotsClient(caller),
    klv: createKlvClient(caller),
    cameras: createCamerasClient(caller),
    metrics: createApiMetrics({ sseClients: () => deps.events.feed.subscribers }),
    engineMetrics: createEngineMetrics(caller),
    corsOrigins: configuration.corsOrigins,
    hasher: createPasswordHasher(),
    license: createLicenseFile(configuration.licenseFile),
    mediaServer: configuration.mediaServer,
    apiKey,
    clock,
    log,
    version: packageJson.version,
    startedAt: clock.now(),
    isStopping: () => stopping.signal.aborted,
    stopping: stopping.signal,
  }
  const deps: AppDeps = assemble(ports)
  const license = createLicenseSender({ source: ports.license, clock, log })
  const app = createApp(deps)
  const connect = (): EngineLink =>
    linkEngine(configuration, dataDir, options.environment ?? process.env, {
      log,
      // The API uses the engine only after this.
      onReady: async (engine, occasion, direct) => {
        await license.send(direct)
        const screenshots = createScreenshotsClient(direct)
        await reconcile({ ...deps, engine, screenshots, licensing: createLicensing({ source: ports.license, engine, clock }) }, occasion)
        await deps.events.resync(await engine.list())
      },
      onEvent: (event) => {
        if (event.type === 'heartbeat') void license.refresh()
        deps.events.push(event)
        deps.geolocations.push(event)
        deps.triggers.onEvent(event)
      },
    })
  const end = async (how: 'stop' | 'leave'): Promise<void> => {
    stopping.abort()
    await link?.[how]()
    closeDatabase()
    lock.release()
  }
  const service: Service = {
    app,
    listener: createRequestListener({ app, trustProxy: configuration.trustProxy, log }),
    deps,
    apiKey,
    dataDir,
    connect: () => {
      link ??= connect()
      return link.first
    },
    prepareToStop: () => stopping.abort(),
    stop: () => end('stop'),
    leave: () => end('leave'),
  }
  if (options.onHandover === undefined) onHandover = () => void service.leave()
  return service
}

/** A file is written by this process only, so reads come from memory; a server may have other writers. */
const openRepositories = async ({ databaseUrl, databaseAuthToken }: Configuration, dataDir: string) => {
  const url = databaseUrl ?? pathToFileURL(join(dataDir, 'service.db')).href
  const database = await openDatabase({ url, ...(databaseAuthToken !== undefined && { authToken: databaseAuthToken }) })
  const sharedDatabase = !url.startsWith('file:')
  const pipelines = createPipelineRepository(database)
  const credentials = createCredentialRepository(database)
  const repositories = {
    sharedDatabase,
    pipelines: sharedDatabase ? pipelines : keepPipelinesInMemory(pipelines),
    credentials: sharedDatabase ? credentials : keepCredentialInMemory(credentials),
    settings: createSettingsRepository(database),
    sessions: createSessionRepository(database),
  }
  return { repositories, close: () => database.close() }
}

const linkEngine = (
  { engineUrl, engineToken }: Configuration,
  dataDir: string,
  environment: NodeJS.ProcessEnv,
  options: LinkOptions,
): EngineLink =>
  engineUrl !== undefined
    ? linkRemoteEngine({ url: engineUrl, token: engineToken ?? '' }, options)
    : keepSidecar({
        ...options,
        entry: join(dirname(fileURLToPath(import.meta.url)), 'engine.js'),
        dataDir,
        version: packageJson.version,
        environment: engineEnvironment(environment, dataDir),
      })

/** The environment of the engine, without the secrets and settings that only the API needs. */
const engineEnvironment = (environment: NodeJS.ProcessEnv, dataDir: string): NodeJS.ProcessEnv => {
  const { SVC_API_KEY, SVC_ENGINE_LISTEN, SVC_DATABASE_URL, SVC_DATABASE_AUTH_TOKEN, SVC_LICENSE_FILE, ...rest } = environment
  return { ...rest, SVC_DATA_DIR: dataDir }
}
