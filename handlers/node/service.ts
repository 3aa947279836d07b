import type { IncomingMessage, ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createCredentialRepository } from '../../db/credential.ts'
import { checkDatabase, openDatabase } from '../../db/open.ts'
import { createPipelineRepository } from '../../db/pipelines.ts'
import { createSessionRepository } from '../../db/sessions.ts'
import { createSettingsRepository } from '../../db/settings.ts'
import { keepCredentialInMemory, keepPipelinesInMemory } from '../../db/write-through.ts'
import { ensurePassword, isPasswordRequired, requireStoredPassword } from '../../lib/access/initial-password.ts'
import { isAuthEnabled } from '../../lib/access/sessions.ts'
import { type Configuration, readConfiguration } from '../../lib/configuration/configuration.ts'
import { createEngineCaller } from '../../lib/engine/caller.ts'
import { createEngineClient } from '../../lib/engine/client.ts'
import { EngineAvailability } from '../../lib/engine/engine-availability.ts'
import { EngineMirror } from '../../lib/engine/mirror.ts'
import { createLicensing } from '../../lib/license/licensing.ts'
import { createLicenseSender } from '../../lib/license/send-to-engine.ts'
import { createLineWriter, createLog } from '../../lib/log/log.ts'
import { terminalStyle } from '../../lib/log/log-text.ts'
import { reconcile, startUnlicensed } from '../../lib/pipelines/reconcile.ts'
import type { Log, PasswordHasher } from '../../lib/ports.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type AppDeps, assemble, createApi, type FetchHandler } from '../app.ts'
import { openPages } from './dashboard-files.ts'
import { openDataDirectory, readOrCreateApiKey } from './data-directory.ts'
import { createLicenseFile } from './license-file.ts'
import type { EngineLink, LinkOptions } from './link/keep-link.ts'
import { linkRemoteEngine } from './link/remote.ts'
import { keepSidecar } from './link/sidecar.ts'
import { createPathWatch } from './media-server.ts'
import { createApiMetrics } from './metrics.ts'
import { createPasswordHasher } from './password-hasher.ts'
import { createRequestListener } from './server/http-server.ts'
import { takeInstanceLock } from './takeover-lock.ts'

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
  const { log, takeOver = false } = options
  const declared = configuration.pipelinesFile === undefined ? undefined : await readDeclared(configuration.pipelinesFile)
  const withPages = openPages(configuration)
  const dataDir = openDataDirectory(configuration.dataDir)
  // The other process must not stop for one that cannot go on.
  if (takeOver) {
    const stored = await checkDatabase(databaseOptions(configuration, dataDir), (database) => createCredentialRepository(database).find())
    await requireStoredPassword(configuration, { find: async () => stored })
  }
  let onHandover = options.onHandover ?? ((): void => {})
  const lock = await takeInstanceLock(dataDir, { takeOver, onHandover: () => onHandover() })
  const hasher = createPasswordHasher()
  const { apiKey, repositories, closeDatabase } = await openStores(configuration, { dataDir, hasher, log }).catch((error: unknown) => {
    // An embedding program may try again.
    lock.release()
    throw error
  })
  const stopping = new AbortController()
  const begun = performance.now()
  let link: EngineLink | undefined
  let exposed = false
  const availability = new EngineAvailability()
  // An engine that runs elsewhere may have other API processes too.
  const mirror = new EngineMirror({ exclusive: configuration.engineUrl === undefined })
  const caller = createEngineCaller({
    address: availability.address,
    fetch: (url, init) => (link?.fetch ?? fetch)(url, init),
    onAnswer: (moment) => mirror.noteAnswer(moment),
  })
  const client = createEngineClient(caller, availability)
  const ports = {
    ...repositories,
    engine: client.engine,
    engineAtOnce: createEngineClient(caller).engine,
    mirror,
    screenshots: client.screenshots,
    klv: client.klv,
    live: client.live,
    cameras: client.cameras,
    metrics: createApiMetrics({ sseClients: () => deps.events.feed.subscriberCount() }),
    engineMetrics: client.metrics.read,
    corsOrigins: configuration.corsOrigins,
    allowedHosts: configuration.allowedHosts,
    hostNames: ownNames(),
    trustProxy: configuration.trustProxy,
    isExposed: () => exposed,
    hasher,
    passwordRequired: isPasswordRequired(configuration),
    license: createLicenseFile(configuration.licenseFile),
    mediaServer: configuration.mediaServer,
    apiKey,
    clock,
    log,
    version: packageJson.version,
    startedAt: clock.now(),
    uptimeSeconds: () => (performance.now() - begun) / 1000,
    isStopping: () => stopping.signal.aborted,
    stopping: stopping.signal,
  }
  const deps: AppDeps = assemble(ports)
  const paths = createPathWatch(configuration, { triggers: deps.triggers, log, signal: stopping.signal })
  const license = createLicenseSender({ source: ports.license, clock, log })
  const { fetch: api, read } = createApi(deps)
  const app = withPages(api, deps)
  const connect = (): EngineLink =>
    linkEngine(configuration, dataDir, options.environment ?? process.env, {
      log,
      availability,
      mirror,
      // The API uses the engine only after this.
      onReady: async (direct, occasion) => {
        const { engine, screenshots } = direct
        await license.send(direct)
        await reconcile({ ...deps, engine, screenshots, licensing: createLicensing({ source: ports.license, engine, clock }) }, occasion)
        await deps.events.resync(await mirror.fill(() => engine.list()))
      },
      onEvent: (event) => {
        if (mirror.push(event)) mirror.fill(client.engine.list).catch((error: unknown) => log.warn('engine_not_listed', { error }))
        if (event.type === 'heartbeat') void license.refresh().then((isNew) => (isNew ? startUnlicensed(deps) : undefined))
        deps.events.push(event)
        deps.geolocations.push(event)
        deps.triggers.onEvent(event)
        paths.onEvent(event)
      },
    })
  let connected: Promise<void> = Promise.resolve()
  let ended: Promise<void> | undefined
  const end = async (how: 'stop' | 'leave'): Promise<void> => {
    service.prepareToStop()
    await link?.[how]()
    await paths.ended()
    await closeDatabase()
    lock.release()
  }
  const service: Service = {
    app,
    listener: createRequestListener({ app, read, trustProxy: configuration.trustProxy, log }),
    deps,
    apiKey,
    dataDir,
    connect: () => {
      if (link === undefined) {
        link = connect()
        const applied = (): Promise<void> | undefined => declared?.apply({ app, deps, apiKey, log, stopping: stopping.signal })
        connected = link.first.then(() => {
          // What the last service left behind is removed by then.
          paths.begin()
          return applied()
        })
      }
      return connected
    },
    expose: async (url) => {
      exposed = true
      if (!(await isAuthEnabled(deps))) log.warn('open_api_exposed', { url, advice: OPEN_API })
    },
    prepareToStop: () => {
      stopping.abort()
      availability.refuseToWait()
    },
    stop: () => {
      ended ??= end('stop')
      return ended
    },
    leave: () => {
      ended ??= end('leave')
      return ended
    },
    killEngine: () => link?.kill(),
  }
  if (options.onHandover === undefined) onHandover = () => void service.leave()
  return service
}

/** Loaded only where it is used: a reader of YAML takes a while to load. */
const readDeclared = async (file: string) => {
  const { applyDeclaredPipelines, readDeclaredPipelines } = await import('./declared-pipelines.ts')
  const declaration = readDeclaredPipelines(file)
  return { apply: (options: Parameters<typeof applyDeclaredPipelines>[1]) => applyDeclaredPipelines(declaration, options) }
}

/** The API key, the database and, in it, the password of the configuration. */
const openStores = async (
  configuration: Configuration,
  { dataDir, hasher, log }: { readonly dataDir: string; readonly hasher: PasswordHasher; readonly log: Log },
) => {
  const apiKey = configuration.apiKey ?? readOrCreateApiKey(dataDir).key
  const { repositories, close: closeDatabase } = await openRepositories(configuration, dataDir)
  try {
    await ensurePassword(configuration, { credentials: repositories.credentials, hasher, clock, log })
  } catch (error) {
    await closeDatabase()
    throw error
  }
  return { apiKey, repositories, closeDatabase }
}

const OPEN_API =
  'Other hosts reach this API and no password is set, so everyone may do everything. Set one (PUT /svc/auth/password), or set SVC_HOST=127.0.0.1.'

/** The name of this host, also as multicast DNS writes it. */
const ownNames = (): readonly string[] => {
  const name = hostname().toLowerCase()
  return name.includes('.') ? [name] : [name, `${name}.local`]
}

/** A file is written by this process only, so reads come from memory; a server may have other writers. */
const openRepositories = async (configuration: Configuration, dataDir: string) => {
  const options = databaseOptions(configuration, dataDir)
  const database = await openDatabase(options)
  const sharedDatabase = !options.url.startsWith('file:')
  const pipelines = createPipelineRepository(database)
  const credentials = createCredentialRepository(database)
  const repositories = {
    sharedDatabase,
    pipelines: sharedDatabase ? pipelines : keepPipelinesInMemory(pipelines),
    credentials: sharedDatabase ? credentials : keepCredentialInMemory(credentials),
    settings: createSettingsRepository(database),
    isWritable: () => database.isWritable(),
    sessions: createSessionRepository(database),
  }
  return { repositories, close: () => database.close() }
}

const databaseOptions = ({ databaseUrl, databaseAuthToken }: Configuration, dataDir: string) => ({
  url: databaseUrl ?? pathToFileURL(join(dataDir, 'service.db')).href,
  ...(databaseAuthToken !== undefined && { authToken: databaseAuthToken }),
})

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
        environment: engineEnvironment(environment, dataDir),
      })

/** The environment of the engine, without the secrets and settings that only the API needs. */
const engineEnvironment = (environment: NodeJS.ProcessEnv, dataDir: string): NodeJS.ProcessEnv => {
  const {
    SVC_API_KEY,
    SVC_PASSWORD,
    SVC_MEDIA_SERVER_API,
    SVC_ENGINE_LISTEN,
    SVC_DATABASE_URL,
    SVC_DATABASE_AUTH_TOKEN,
    SVC_LICENSE_FILE,
    SVC_PIPELINES,
    ...rest
  } = environment
  return { ...rest, SVC_DATA_DIR: dataDir }
}
