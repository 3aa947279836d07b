import { type Configuration, ConfigurationError, readConfiguration } from '../../lib/configuration.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type AppDeps, apiRoutes, createApp } from '../app.ts'
import { helpText, readArguments } from './arguments.ts'
import { type DocsServer, serveDocs } from './docs-server.ts'
import { createHttpServer } from './http-server.ts'
import { isExposed, listen, portOf, urlOf } from './listen.ts'
import { createServiceLog, openService } from './service.ts'
import { createShutdown } from './shutdown.ts'

/** sysexits.h: EX_USAGE, EX_UNAVAILABLE, EX_CONFIG. */
const EXIT = { usage: 64, unavailable: 69, configuration: 78 } as const

const main = async (): Promise<void> => {
  const args = readArguments(process.argv.slice(2))
  if (args.kind === 'help') return void process.stdout.write(helpText())
  if (args.kind === 'version') return void process.stdout.write(`${packageJson.version}\n`)
  if (args.kind === 'unknown') return fail(EXIT.usage, [`unknown argument ${args.argument}; use --help for a list`])
  const configuration = readConfiguration(process.env)
  if ('mistakes' in configuration) return fail(EXIT.configuration, configuration.mistakes)
  try {
    await serve(configuration, args.takeOver)
  } catch (error) {
    fail(error instanceof ConfigurationError ? EXIT.configuration : EXIT.unavailable, [messageOf(error)])
  }
}

const fail = (code: number, lines: readonly string[]): void => {
  for (const line of lines) process.stderr.write(`video-pipeline-service: ${line}\n`)
  process.exit(code)
}

/** Starts service, HTTP servers and engine, in this order; a signal ends them in reverse. */
const serve = async (configuration: Configuration, takeOver: boolean): Promise<void> => {
  const log = createServiceLog(configuration)
  // Only the owner may read the files of this process: database, API key, screenshots.
  process.umask(0o077)
  let handOver = (): void => process.exit(0)
  const service = await openService(configuration, { log, takeOver, onHandover: () => handOver() })
  const docs = await openDocs(configuration, { deps: service.deps, log, apiPort: () => portOf(server) })
  const corsOrigins = [...configuration.corsOrigins, ...(docs?.origins ?? [])]
  const app = createApp({ ...service.deps, corsOrigins })
  const server = createHttpServer({ app, trustProxy: configuration.trustProxy, log })
  await listen(server, { host: configuration.host, port: configuration.port, purpose: 'listen', variable: 'SVC_PORT' })
  if (isExposed(server)) await service.expose(urlOf(server))
  const connected = service.connect()

  const shutDown = createShutdown({ service, servers: docs === undefined ? [server] : [server, docs.server], log })
  handOver = () => void shutDown('another process takes over', 'leave')
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void shutDown(signal, 'stop'))

  await connected
  log.info('service_ready', {
    url: urlOf(server),
    ...(docs !== undefined && { docs_url: docs.url }),
    version: packageJson.version,
    data_dir: service.dataDir,
    start_ms: Math.round(performance.now()),
  })
}

/** The API explorer, with the docs profile only. */
const openDocs = async (
  { profile, host, docsPort }: Configuration,
  { deps, log, apiPort }: { readonly deps: AppDeps; readonly log: Log; readonly apiPort: () => number },
): Promise<DocsServer | undefined> =>
  profile === 'docs'
    ? serveDocs({ host, port: docsPort, apiPort, operations: apiRoutes(deps), version: packageJson.version, log })
    : undefined

await main()
