import { readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { openDatabase } from '../db/client.ts'
import { createCredentialRepository } from '../db/credential.ts'
import { createPipelineRepository } from '../db/pipelines.ts'
import { createSessionRepository } from '../db/sessions.ts'
import { createSettingsRepository } from '../db/settings.ts'
import { createCamerasClient } from '../lib/cameras-client.ts'
import { type Configuration, readConfiguration } from '../lib/configuration.ts'
import { createEngineCaller, createEngineClient } from '../lib/engine-client.ts'
import { createKlvClient } from '../lib/klv-client.ts'
import { createLicensing } from '../lib/license.ts'
import { createLog } from '../lib/log.ts'
import { createEngineMetrics } from '../lib/metrics.ts'
import { createPicturesClient } from '../lib/pictures-client.ts'
import type { Log } from '../lib/ports.ts'
import { reconcile } from '../lib/reconcile.ts'
import { keepCredentialInMemory, keepPipelinesInMemory } from '../lib/write-through.ts'
import packageJson from '../package.json' with { type: 'json' }
import { type AppDeps, apiRoutes, assemble, createApp } from './app.ts'
import { helpText, readArguments } from './node/arguments.ts'
import { openDataDirectory, readOrCreateApiKey } from './node/data-directory.ts'
import { type DocsServer, serveDocs } from './node/docs-server.ts'
import { type EngineLink, keepSidecar, type LinkOptions } from './node/engine-link.ts'
import { createHttpServer } from './node/http-server.ts'
import { takeInstanceLock } from './node/instance-lock.ts'
import { createApiMetrics } from './node/metrics.ts'
import { createPasswordHasher } from './node/password-hasher.ts'
import { linkRemoteEngine } from './node/remote-engine.ts'

/** sysexits.h: EX_USAGE, EX_UNAVAILABLE, EX_CONFIG. */
const EXIT = { usage: 64, unavailable: 69, configuration: 78 } as const

/** How long requests may take to end after SIGTERM before their connections are closed, milliseconds. */
const DRAIN_MS = 5000
/** Whatever hangs: the whole shutdown ends after this, milliseconds. */
const SHUT_DOWN_MS = 40_000

const clock = { now: () => Date.now() }

const main = async (): Promise<void> => {
  const args = readArguments(process.argv.slice(2))
  if (args.kind === 'help') return void process.stdout.write(helpText())
  if (args.kind === 'version') return void process.stdout.write(`${packageJson.version}\n`)
  if (args.kind === 'unknown') return leave(EXIT.usage, [`unknown argument ${args.argument}; --help lists what there is`])
  const configuration = readConfiguration(process.env)
  if ('mistakes' in configuration) return leave(EXIT.configuration, configuration.mistakes)
  try {
    await serve(configuration, args.takeOver)
  } catch (error) {
    leave(EXIT.unavailable, [error instanceof Error ? error.message : String(error)])
  }
}

const leave = (code: number, lines: readonly string[]): void => {
  for (const line of lines) process.stderr.write(`video-pipeline-service: ${line}\n`)
  process.exit(code)
}

/** Wires the service: database, engine, handlers and HTTP, in that order; SIGTERM ends them in the other one. */
const serve = async (configuration: Configuration, takeOver: boolean): Promise<void> => {
  const log = createLog({
    level: configuration.logLevel,
    clock,
    write: (line) => process.stderr.write(`${line}\n`),
    fields: { process: 'api' },
  })
  // Database, log files of it, key and pictures: what this service writes is its own.
  process.umask(0o077)
  const dataDir = openDataDirectory(configuration.dataDir)
  let handOver = (): void => process.exit(0)
  await takeInstanceLock(dataDir, { takeOver, onHandover: () => handOver() })
  const apiKey = configuration.apiKey ?? keyOf(dataDir)
  const databaseUrl = configuration.databaseUrl ?? pathToFileURL(join(dataDir, 'service.db')).href
  const database = await openDatabase({
    url: databaseUrl,
    ...(configuration.databaseAuthToken !== undefined && { authToken: configuration.databaseAuthToken }),
  })
  const stopping = new AbortController()
  let link: EngineLink | undefined
  const engineCaller = createEngineCaller({
    address: () => link?.address(),
    fetch: (url, init) => (link?.fetch ?? fetch)(url, init),
  })
  const ports = {
    engine: createEngineClient(engineCaller),
    pictures: createPicturesClient(engineCaller),
    klv: createKlvClient(engineCaller),
    cameras: createCamerasClient(engineCaller),
    metrics: createApiMetrics({ sseClients: () => deps.events.feed.followers }),
    engineMetrics: createEngineMetrics(engineCaller),
    // A file has this process alone for a writer, so reads need not ask it; a server may have others.
    pipelines: databaseUrl.startsWith('file:')
      ? keepPipelinesInMemory(createPipelineRepository(database))
      : createPipelineRepository(database),
    settings: createSettingsRepository(database),
    credentials: databaseUrl.startsWith('file:')
      ? keepCredentialInMemory(createCredentialRepository(database))
      : createCredentialRepository(database),
    corsOrigins: configuration.corsOrigins,
    sessions: createSessionRepository(database),
    hasher: createPasswordHasher(),
    license: { read: async () => (configuration.licenseFile === undefined ? null : readFile(configuration.licenseFile, 'utf8')) },
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
  const docs = await docsOf(configuration, { deps, log, apiPort: () => portOf(server) })
  const corsOrigins = [...configuration.corsOrigins, ...(docs?.origins ?? [])]
  const server = createHttpServer({ app: createApp({ ...deps, corsOrigins }), trustProxy: configuration.trustProxy, log })
  await listen(server, configuration)

  const kept = linkEngine(configuration, dataDir, {
    log,
    // The API is shown the engine only when the two agree.
    onReady: async (engine, occasion, caller) => {
      const pictures = createPicturesClient(caller)
      await reconcile({ ...deps, engine, pictures, licensing: createLicensing({ source: ports.license, engine, clock }) }, occasion)
      await deps.events.resync(await engine.list())
    },
    onEvent: (event) => {
      deps.events.push(event)
      deps.geolocations.push(event)
      deps.triggers.notice(event)
    },
  })
  link = kept

  const shutDown = async (reason: string, letGo: () => Promise<void>): Promise<void> => {
    if (stopping.signal.aborted) return process.exit(1)
    log.info('service_stopping', { reason })
    stopping.abort()
    setTimeout(() => process.exit(1), SHUT_DOWN_MS).unref()
    await Promise.all([server, ...(docs === undefined ? [] : [docs.server])].map(drain))
    await letGo()
    database.close()
    process.exit(0)
  }
  handOver = () => void shutDown('another process takes over', kept.leave)
  process.on('SIGTERM', () => void shutDown('SIGTERM', kept.stop))
  process.on('SIGINT', () => void shutDown('SIGINT', kept.stop))

  await kept.first
  log.info('service_ready', {
    url: urlOf(server),
    ...(docs !== undefined && { docs_url: docs.url }),
    version: packageJson.version,
    data_dir: dataDir,
    start_ms: Math.round(performance.now()),
  })
}

const linkEngine = ({ engineUrl, engineToken }: Configuration, dataDir: string, options: LinkOptions): EngineLink =>
  engineUrl !== undefined
    ? linkRemoteEngine({ url: engineUrl, token: engineToken ?? '' }, options)
    : keepSidecar({
        ...options,
        entry: join(dirname(fileURLToPath(import.meta.url)), 'engine.js'),
        dataDir,
        version: packageJson.version,
        environment: engineEnvironment(dataDir),
      })

/** The explorer, with the docs profile only. */
const docsOf = async (
  { profile, host, docsPort }: Configuration,
  { deps, log, apiPort }: { readonly deps: AppDeps; readonly log: Log; readonly apiPort: () => number },
): Promise<DocsServer | undefined> =>
  profile === 'docs'
    ? serveDocs({ host, port: docsPort, apiPort, operations: apiRoutes(deps), version: packageJson.version, log })
    : undefined

const portOf = (server: Server): number => (server.address() as AddressInfo).port

const urlOf = (server: Server): string => {
  const { address, port, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

const keyOf = (dataDir: string): string => readOrCreateApiKey(dataDir).key

/** What the engine is told of our environment: nothing that only the API needs to know. */
const engineEnvironment = (dataDir: string): NodeJS.ProcessEnv => {
  const { SVC_API_KEY, SVC_ENGINE_LISTEN, SVC_DATABASE_URL, SVC_DATABASE_AUTH_TOKEN, SVC_LICENSE_FILE, ...rest } = process.env
  return { ...rest, SVC_DATA_DIR: dataDir }
}

const listen = (server: Server, { host, port }: Configuration): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE' ? 'another program has this port; set SVC_PORT' : error.message
      reject(new Error(`cannot listen at ${host}:${port}: ${taken}`))
    })
    server.listen({ host, port }, resolve)
  })

/** No new connections; those with a request in flight may end it. */
const drain = async (server: Server): Promise<void> => {
  const closed = new Promise((resolve) => server.close(resolve))
  // A connection whose request ends after the server was closed stays open for another one.
  const idle = setInterval(() => server.closeIdleConnections(), 20)
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  await closed
  clearInterval(idle)
  clearTimeout(timer)
}

await main()
