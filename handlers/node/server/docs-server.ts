import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import { hostname, networkInterfaces } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { createOpenApiDocument } from '../../../lib/openapi/document.ts'
import type { Operation } from '../../../lib/openapi/operation.ts'
import type { Log } from '../../../lib/ports.ts'
import type { Asset } from '../../pages/assets.ts'
import { createDocsHandlers } from '../../pages/docs.ts'
import { createHttpServer } from './http-server.ts'
import { listen, portOf, urlOf } from './listen.ts'

interface DocsServerOptions {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** Port of the API, once it listens. */
  readonly apiPort: () => number
  readonly operations: readonly Operation[]
  readonly version: string
  readonly log: Log
}

export interface DocsServer {
  readonly server: Server
  /** The address at which it listens. */
  readonly url: string
  /** The origins of its page, which may call the API. */
  readonly origins: readonly string[]
}

/** Serves the API explorer at a port of its own. Rejects when the port is taken or the package swagger-ui-dist is missing. */
export const serveDocs = async (options: DocsServerOptions): Promise<DocsServer> => {
  const { host, operations, version, log } = options
  const app = createDocsHandlers({
    assets: readAssets(),
    document: (serverUrl) => createOpenApiDocument(operations, { version, serverUrl }),
    apiOrigin: ({ protocol, hostname: name }) => `${protocol}//${name}:${options.apiPort()}`,
  })
  const server = createHttpServer({ app, trustProxy: false, log })
  await listen(server, { host, port: options.port, purpose: 'serve the API explorer', variable: 'SVC_DOCS_PORT' })
  const port = portOf(server)
  return { server, origins: namesOf(host).map((name) => `http://${name}:${port}`), url: urlOf(server) }
}

const ASSETS = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
}

/** The files of the explorer, read once. */
const readAssets = (): ReadonlyMap<string, Asset> => {
  const folder = explorerFolder()
  return new Map(
    ASSETS.map((name) => {
      const bytes = new Uint8Array(readFileSync(join(folder, name)))
      const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
      return [`/${name}`, { type: TYPES[extname(name)] ?? 'application/octet-stream', etag, bytes }]
    }),
  )
}

const explorerFolder = (): string => {
  try {
    return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  } catch (cause) {
    throw new Error('the docs profile needs the npm package swagger-ui-dist; install it or unset SVC_PROFILE', { cause })
  }
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])
const ANY: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/** The host names by which a browser reaches a server that listens at this host. */
const namesOf = (host: string): readonly string[] => {
  if (LOOPBACK.has(host)) return [...new Set([inUrl(host), 'localhost'])]
  if (!ANY.has(host)) return [inUrl(host)]
  const addresses = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => inUrl(address)))
  return [...new Set(['127.0.0.1', 'localhost', hostname().toLowerCase(), ...addresses])]
}

const inUrl = (host: string): string => (host.includes(':') ? `[${host.split('%', 1)[0]}]` : host)
