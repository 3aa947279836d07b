import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Configuration, readConfiguration } from '../../lib/configuration.ts'
import type { Log } from '../../lib/ports.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type AppDeps, apiRoutes, createApp } from '../app.ts'
import { helpText, readArguments } from './arguments.ts'
import { type DocsServer, serveDocs } from './docs-server.ts'
import { drain } from './drain.ts'
import { createHttpServer } from './http-server.ts'
import { createServiceLog, openService } from './service.ts'

/** sysexits.h: EX_USAGE, EX_UNAVAILABLE, EX_CONFIG. */
const EXIT = { usage: 64, unavailable: 69, configuration: 78 } as const

/** Whatever hangs: the whole shutdown ends after this, milliseconds. */
const SHUT_DOWN_MS = 40_000

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

/** Service, HTTP and engine, in that order; SIGTERM ends them in the other one. */
const serve = async (configuration: Configuration, takeOver: boolean): Promise<void> => {
  const log = createServiceLog(configuration)
  // Database, log files of it, key and pictures: what this service writes is its own.
  process.umask(0o077)
  let handOver = (): void => process.exit(0)
  const service = await openService(configuration, { log, takeOver, onHandover: () => handOver() })
  const { deps } = service
  const docs = await docsOf(configuration, { deps, log, apiPort: () => portOf(server) })
  const corsOrigins = [...configuration.corsOrigins, ...(docs?.origins ?? [])]
  const server = createHttpServer({ app: createApp({ ...deps, corsOrigins }), trustProxy: configuration.trustProxy, log })
  await listen(server, configuration)
  const connected = service.connect()

  let isStopping = false
  const shutDown = async (reason: string, letGo: () => Promise<void>): Promise<void> => {
    if (isStopping) return process.exit(1)
    isStopping = true
    log.info('service_stopping', { reason })
    service.prepareToStop()
    setTimeout(() => process.exit(1), SHUT_DOWN_MS).unref()
    await Promise.all([server, ...(docs === undefined ? [] : [docs.server])].map(drain))
    await letGo()
    process.exit(0)
  }
  handOver = () => void shutDown('another process takes over', service.leave)
  process.on('SIGTERM', () => void shutDown('SIGTERM', service.stop))
  process.on('SIGINT', () => void shutDown('SIGINT', service.stop))

  await connected
  log.info('service_ready', {
    url: urlOf(server),
    ...(docs !== undefined && { docs_url: docs.url }),
    version: packageJson.version,
    data_dir: service.dataDir,
    start_ms: Math.round(performance.now()),
  })
}

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

const listen = (server: Server, { host, port }: Configuration): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE' ? 'another program has this port; set SVC_PORT' : error.message
      reject(new Error(`cannot listen at ${host}:${port}: ${taken}`))
    })
    server.listen({ host, port }, resolve)
  })

await main()
