import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isAuthEnabled } from '../../lib/access/sessions.ts'
import type { Configuration } from '../../lib/configuration/configuration.ts'
import { type DashboardFile, withDashboard } from '../dashboard/dashboard.ts'
import type { FetchHandler } from '../http/route.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

/** As the build names files: `main-3KXQZP7A.js`. */
const HASHED = /-[A-Z0-9]{8}\.\w+$/

/** Adds the dashboard to an API. */
type WithPages = (api: FetchHandler, deps: Parameters<typeof isAuthEnabled>[0]) => FetchHandler

/** Reads the dashboard, unless that is turned off. Throws when its files are missing. */
export const openPages = ({ dashboard, mapTiles, outputTls, outputTlsCert }: Configuration): WithPages => {
  if (!dashboard) return (api) => api
  const files = readDashboardFiles()
  const tls = outputTlsCert === undefined ? 'off' : outputTls
  return (api, deps) => withDashboard(api, { files, mapTiles, outputTls: tls, isOpen: async () => !(await isAuthEnabled(deps)) })
}

/** The files of the dashboard that the build has put beside this module, read once. Throws when they are missing. */
const readDashboardFiles = (): ReadonlyMap<string, DashboardFile> => {
  const folder = fileURLToPath(new URL('./dashboard/', import.meta.url))
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => Object.hasOwn(TYPES, extname(name))) : []
  if (!names.includes('index.html')) throw new Error(`the dashboard is missing in ${folder}; run npm run build, or set SVC_DASHBOARD=0`)
  return new Map(names.map((name) => [name, readFile(folder, name)]))
}

const readFile = (folder: string, name: string): DashboardFile => {
  const read = (suffix: string) => new Uint8Array(readFileSync(join(folder, `${name}${suffix}`)))
  const bytes = read('')
  const has = (suffix: string): boolean => existsSync(join(folder, `${name}${suffix}`))
  return {
    type: TYPES[extname(name)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(bytes).digest('base64url')}"`,
    immutable: HASHED.test(name),
    bytes,
    brotli: has('.br') ? read('.br') : undefined,
    gzip: has('.gz') ? read('.gz') : undefined,
  }
}
