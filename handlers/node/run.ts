import { type Configuration, ConfigurationError, readConfiguration, unknownVariables } from '../../lib/configuration/configuration.ts'
import { messageOf } from '../../lib/errors.ts'
import { pause } from '../../lib/pause.ts'
import type { Log } from '../../lib/ports.ts'
import { endWhenHanging } from '../../lib/process/hang-watch.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type AppDeps, apiRoutes, createApi } from '../app.ts'
import { helpText, readArguments } from './arguments.ts'
import { openPages } from './dashboard-files.ts'
import { collectWhenIdle } from './heap.ts'
import { type DocsServer, serveDocs } from './server/docs-server.ts'
import { createHttpServer } from './server/http-server.ts'
import { checkListen, isExposed, listen, portOf, urlOf } from './server/listen.ts'
import { createServiceLog, openService } from './service.ts'
import type { Shutdown } from './shutdown.ts'
import { reportStart } from './start-report.ts'

const SIGNAL_MS = 20

/** sysexits.h: EX_USAGE, EX_UNAVAILABLE, EX_CONFIG. */
const EXIT = { usage: 64, unavailable: 69, configuration: 78 } as const

/** The program: answers `--help` and the like, or serves until `shutdown` ends the process. */
export const run = async (given: readonly string[], shutdown: Shutdown): Promise<void> => {
  const args = readArguments(given)
  if (args.kind === 'help') return void process.stdout.write(helpText())
  if (args.kind === 'version') return void process.stdout.write(`${packageJson.version}\n`)
  if (args.kind === 'unknown') return fail(EXIT.usage, [`unknown argument ${args.argument}; use --help for a list`])
  const configuration = readConfiguration(process.env)
  if ('mistakes' in configuration) return fail(EXIT.configuration, configuration.mistakes)
  try {
    await serve(configuration, args.takeOver, shutdown)
  } catch (error) {
    // A signal to the process group may end a helper process before it reaches this process.
    await pause(SIGNAL_MS)
    const code = error instanceof ConfigurationError ? EXIT.configuration : EXIT.unavailable
    if (!shutdown.requested) fail(code, [messageOf(error)])
  } finally {
    shutdown.started()
  }
}

const fail = (code: number, lines: readonly string[]): void => {
  for (const line of lines) process.stderr.write(`video-pipeline-service: ${line}\n`)
  process.exit(code)
}

/** Starts service, HTTP servers and engine, in this order; stops where `shutdown` was requested meanwhile. */
const serve = async (configuration: Configuration, takeOver: boolean, shutdown: Shutdown): Promise<void> => {
  const log = createServiceLog(configuration)
  if (!shutdown.add({ log })) return
  const unknown = unknownVariables(process.env)
  if (unknown.length > 0) log.warn('variables_unknown', { names: unknown, advice: 'correct their spelling; --help lists the variables' })
  // Only the owner may read the files of this process: database, API key, screenshots.
  process.umask(0o077)
  const address = { host: configuration.host, port: configuration.port, purpose: 'listen', variable: 'SVC_PORT' }
  // The other process must not stop for one that cannot listen.
  if (takeOver) await checkListen(address)
  const onHandover = (): void => void shutdown.request('another process takes over', 'leave')
  const service = await openService(configuration, { log, takeOver, onHandover })
  if (!shutdown.add({ service })) return
  const docs = await openDocs(configuration, { deps: service.deps, log, apiPort: () => portOf(server) })
  if (docs !== undefined && !shutdown.add({ server: docs.server })) return
  const corsOrigins = [...configuration.corsOrigins, ...(docs?.origins ?? [])]
  const { fetch: api, read } = createApi({ ...service.deps, corsOrigins })
  const app = openPages(configuration)(api, service.deps)
  const server = createHttpServer({ app, read, trustProxy: configuration.trustProxy, log })
  await listen(server, address)
  if (!shutdown.add({ server })) return
  collectWhenIdle()
  // The streams of an engine that runs elsewhere continue meanwhile.
  if (configuration.engineUrl !== undefined) endWhenHanging('api')
  if (isExposed(server)) await service.expose(urlOf(server))
  const connected = service.connect()
  shutdown.started()
  await connected
  if (!shutdown.requested) await reportStart({ configuration, service, log, url: urlOf(server), docsUrl: docs?.url })
}

/** The API explorer, with the docs profile only. */
const openDocs = async (
  { profile, host, docsPort }: Configuration,
  { deps, log, apiPort }: { readonly deps: AppDeps; readonly log: Log; readonly apiPort: () => number },
): Promise<DocsServer | undefined> =>
  profile === 'docs'
    ? serveDocs({ host, port: docsPort, apiPort, operations: apiRoutes(deps), version: packageJson.version, log })
    : undefined
