import { matchesEtag } from '../http/conditional-request.ts'
import { errorResponse, methodNotAllowed, pathNotFound } from '../http/respond.ts'
import type { FetchHandler } from '../http/route.ts'
import { securityHeaders } from './security-headers.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** A file of the page. */
export interface DashboardFile {
  /** Media type. */
  readonly type: string
  readonly etag: string
  /** The name contains a hash of the content. */
  readonly immutable: boolean
  readonly bytes: Bytes
  /** Compressed at build time. */
  readonly brotli?: Bytes | undefined
  readonly gzip?: Bytes | undefined
}

interface DashboardDeps {
  /** By name; `index.html` is the page. */
  readonly files: ReadonlyMap<string, DashboardFile>
  /** URL template of map tiles; without one the map has only a graticule. */
  readonly mapTiles?: string | undefined
  /** Whether the outputs speak TLS. */
  readonly outputTls?: 'off' | 'optional' | 'required'
  /** Whether the API answers without a credential. */
  readonly isOpen?: () => Promise<boolean>
}

const BASE = '/svc/dashboard/'
const INDEX = 'index.html'

/** Answers `/` and `/svc/dashboard/`, and passes all else to the API. The files hold no secret, so they need no credential. */
export const withDashboard = (api: FetchHandler, deps: DashboardDeps): FetchHandler => {
  const page = deps.files.get(INDEX)?.bytes ?? new Uint8Array()
  let headers: ReturnType<typeof securityHeaders> | undefined
  return async (request, context) => {
    const url = new URL(request.url)
    const isPage = url.pathname === '/' || url.pathname === BASE.slice(0, -1) || url.pathname.startsWith(BASE)
    if (!isPage) return api(request, context)
    const answer = await answerPage(deps, request, url)
    headers ??= securityHeaders(new TextDecoder().decode(page), deps.mapTiles)
    for (const [name, value] of Object.entries(await headers)) answer.headers.set(name, value)
    return request.method === 'HEAD' ? new Response(null, answer) : answer
  }
}

const answerPage = async (deps: DashboardDeps, request: Request, { pathname }: URL): Promise<Response> => {
  if (request.method !== 'GET' && request.method !== 'HEAD') return mutable(errorResponse(methodNotAllowed(['GET', 'HEAD'])))
  if (!pathname.startsWith(BASE)) return new Response(null, { status: 302, headers: { location: BASE, 'cache-control': 'no-store' } })
  const name = pathname.slice(BASE.length) || INDEX
  const file = deps.files.get(name)
  if (file === undefined) return mutable(errorResponse(pathNotFound()))
  return name === INDEX ? indexAnswer(file, deps) : fileAnswer(file, request)
}

/** The headers of `Response.json` are immutable on some runtimes. */
const mutable = (answer: Response): Response => new Response(answer.body, { status: answer.status, headers: new Headers(answer.headers) })

/** The first request of every page, preloaded; with a password it needs the token of the page. */
const LIST = '<link rel="preload" as="fetch" crossorigin="anonymous" href="../pipeline">'

/** The page itself. It names the other files, so it is not cached. */
const indexAnswer = async ({ type, bytes }: DashboardFile, { mapTiles, outputTls = 'off', isOpen }: DashboardDeps): Promise<Response> => {
  // Without a database the page is still served, and shows the fault.
  const list = (await isOpen?.().catch(() => false)) === true ? LIST : ''
  const html = new TextDecoder()
    .decode(bytes)
    .replace('%MAP_TILES%', () => escapeAttribute(mapTiles ?? ''))
    .replace('%OUTPUT_TLS%', outputTls)
    .replace('%LIST%', list)
  return new Response(html, { headers: { 'content-type': type, 'cache-control': 'no-cache' } })
}

const escapeAttribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

const fileAnswer = (file: DashboardFile, request: Request): Response => {
  const { encoding, bytes } = bestEncoding(file, request.headers.get('accept-encoding') ?? '')
  const headers = new Headers({
    'content-type': file.type,
    'cache-control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag: file.etag,
    vary: 'accept-encoding',
  })
  if (matchesEtag(request, file.etag)) return new Response(null, { status: 304, headers })
  if (encoding !== undefined) headers.set('content-encoding', encoding)
  headers.set('content-length', String(bytes.length))
  return new Response(bytes, { headers })
}

const bestEncoding = ({ bytes, brotli, gzip }: DashboardFile, accepted: string): { encoding?: string; bytes: Bytes } => {
  if (brotli !== undefined && accepts(accepted, 'br')) return { encoding: 'br', bytes: brotli }
  if (gzip !== undefined && accepts(accepted, 'gzip')) return { encoding: 'gzip', bytes: gzip }
  return { bytes }
}

/** Whether Accept-Encoding (RFC 9110 section 12.5.3) accepts the coding by name. */
const accepts = (accepted: string, coding: string): boolean =>
  accepted.split(',').some((part) => {
    const [name = '', ...parameters] = part.trim().toLowerCase().split(';')
    return name.trim() === coding && !parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter))
  })
