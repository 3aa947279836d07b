import { connectToBinding } from '../../db/connect/binding.ts'
import { type Database, type DatabaseConnection, toDatabase } from '../../db/connect/connection.ts'
import { connectToServer } from '../../db/connect/server.ts'
import { createCredentialRepository } from '../../db/credential.ts'
import { migrate } from '../../db/migrations/migrate.ts'
import { MIGRATIONS } from '../../db/migrations/migrations.ts'
import { createPipelineRepository } from '../../db/pipelines.ts'
import { createSessionRepository } from '../../db/sessions.ts'
import { createSettingsRepository } from '../../db/settings.ts'
import { createClientLimits } from '../../lib/access/client-limits.ts'
import { createRateLimiter } from '../../lib/access/rate-limit.ts'
import { type Configuration, readConfiguration } from '../../lib/configuration/configuration.ts'
import { createEngineCaller, type EngineCaller } from '../../lib/engine/caller.ts'
import { createEngineClient, createRemoteHasher } from '../../lib/engine/client.ts'
import { type Agreement, withHandshake } from '../../lib/engine/handshake.ts'
import { ApiError } from '../../lib/errors.ts'
import { followOnDemand } from '../../lib/events/upstreams.ts'
import { createKeyedQueue } from '../../lib/keyed-queue.ts'
import { createLog } from '../../lib/log/log.ts'
import { type Occasion, reconcile } from '../../lib/pipelines/reconcile.ts'
import type { Log } from '../../lib/ports.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type AppDeps, assemble } from '../app.ts'
import type { WorkerEnvironment } from './environment.ts'

const clock = { now: () => Date.now() }

/**
 * Shared by the requests of one isolate: plain memory only. The runtime binds sockets, timers and their promises to the request that has
 * created them, so connections and the rest of the API are built per request.
 */
const shared = {
  limiter: createRateLimiter(clock),
  limits: createClientLimits(),
  agreement: { at: 0 } as Agreement,
  migrated: false,
}

interface Wiring {
  readonly configuration: Configuration
  readonly deps: AppDeps
  readonly reconcileAs: (occasion: Occasion) => Promise<void>
}

/** The API for one request. Throws SERVICE_UNAVAILABLE when the environment is wrong or the database does not answer. */
export const wire = async (environment: WorkerEnvironment): Promise<Wiring> => {
  const configuration = configure(environment)
  const log = createLog({ level: configuration.logLevel, clock, write: (line) => console.log(line), fields: { process: 'worker' } })
  const database = await openDatabase(environment, configuration, log)
  const direct = reachEngine(environment, configuration)
  const client = createEngineClient(
    withHandshake(direct, {
      agreement: shared.agreement,
      clock,
      onFresh: () => reconcileAs('engine_restarted'),
    }),
  )
  const ports = portsOf({ environment, configuration, client, database, log })
  const assembled = assemble(ports)
  const reconcileAs = (occasion: Occasion): Promise<void> => {
    const { engine, screenshots, recordings } = createEngineClient(direct)
    // A separate queue: the request that reconciles may be a change of a pipeline itself, and would wait for itself.
    return reconcile({ ...assembled, engine, screenshots, recordings, changes: createKeyedQueue() }, occasion)
  }
  const deps = {
    ...assembled,
    events: followOnDemand(assembled.events, ports),
  }
  return { configuration, deps, reconcileAs }
}

interface Parts {
  readonly environment: WorkerEnvironment
  readonly configuration: Configuration
  readonly client: ReturnType<typeof createEngineClient>
  readonly database: Awaited<ReturnType<typeof openDatabase>>
  readonly log: Log
}

const portsOf = ({ environment, configuration, client, database, log }: Parts) => ({
  engine: client.engine,
  screenshots: client.screenshots,
  recordings: client.recordings,
  klv: client.klv,
  live: client.live,
  cameras: client.cameras,
  engineMetrics: client.metrics.read,
  hasher: createRemoteHasher(client),
  pipelines: createPipelineRepository(database),
  sharedDatabase: true,
  settings: createSettingsRepository(database),
  credentials: createCredentialRepository(database),
  sessions: createSessionRepository(database),
  license: { read: async () => environment.SVC_LICENSE ?? null },
  mediaServer: configuration.mediaServer,
  corsOrigins: configuration.corsOrigins,
  allowedHosts: configuration.allowedHosts,
  trustProxy: configuration.trustProxy,
  limiter: shared.limiter,
  limits: shared.limits,
  // A worker has no loopback address.
  isExposed: () => true,
  apiKey: configuration.apiKey ?? '',
  clock,
  log,
  version: packageJson.version,
  startedAt: clock.now(),
  // Built for one request.
  uptimeSeconds: () => 0,
})

const configure = (environment: WorkerEnvironment): Configuration => {
  const variables = Object.entries(environment).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const configuration = readConfiguration(Object.fromEntries(variables))
  if ('mistakes' in configuration) throw misconfigured(configuration.mistakes)
  if (configuration.apiKey === undefined) throw misconfigured(['SVC_API_KEY: set a secret of at least 16 characters'])
  return configuration
}

const misconfigured = (mistakes: readonly string[]): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', 'The service is not configured correctly. Correct the variables in details.mistakes.', {
    reason: 'configuration',
    // After the name of a secret and a colon, the text would be masked.
    mistakes: mistakes.map((line) => line.replace(/^(\w+): /, '$1 is not valid: ')),
  })

const reachEngine = ({ ENGINE }: WorkerEnvironment, { engineUrl, engineToken = '' }: Configuration): EngineCaller => {
  if (ENGINE === undefined && engineUrl === undefined) throw misconfigured(['SVC_ENGINE_URL: set the URL of the engine, or bind ENGINE'])
  const address = { url: engineUrl ?? 'http://engine', token: engineToken }
  return createEngineCaller({
    address: () => address,
    ...(ENGINE !== undefined && { fetch: (url: string, init: RequestInit) => ENGINE.fetch(url, init) }),
  })
}

const openDatabase = async (environment: WorkerEnvironment, configuration: Configuration, log: Log): Promise<Database> => {
  const connection = connect(environment, configuration)
  if (shared.migrated) return toDatabase(connection)
  try {
    await migrate(connection.client, MIGRATIONS)
    shared.migrated = true
    return toDatabase(connection)
  } catch (error) {
    log.error('database_failed', { error })
    throw new ApiError(
      'SERVICE_UNAVAILABLE',
      'The database does not answer. Try again in a moment.',
      { reason: 'database' },
      { cause: error },
    )
  }
}

const connect = (
  { DATABASE, DATABASE_SERVER }: WorkerEnvironment,
  { databaseUrl, databaseAuthToken }: Configuration,
): DatabaseConnection => {
  if (DATABASE !== undefined) return connectToBinding(DATABASE)
  const url = databaseUrl ?? (DATABASE_SERVER === undefined ? undefined : 'http://database')
  if (url === undefined || url.startsWith('file:'))
    throw misconfigured(['SVC_DATABASE_URL: set the URL of a libSQL server, or bind DATABASE'])
  return connectToServer({
    url,
    ...(databaseAuthToken !== undefined && { authToken: databaseAuthToken }),
    ...(DATABASE_SERVER !== undefined && { fetch: (request, init) => DATABASE_SERVER.fetch(request, init) }),
  })
}
