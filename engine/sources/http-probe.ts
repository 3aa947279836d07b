import type { IncomingMessage } from 'node:http'
import { type Address, redirectedAddress } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { requestFault, statusFault } from '../faults/network-faults.ts'
import { get } from '../fetch/get.ts'
import { readBody } from '../hls/hls-client.ts'
import { MAX_PLAYLIST_BYTES, openHls } from '../hls/open-hls.ts'
import { Authorizer } from '../rtsp/client/authorizer.ts'
import type { SourceFacts } from './source-kind.ts'

/** The content of an HTTP source, by its content type and name. */
type HttpContent = 'hls' | 'mpegts' | 'flv' | 'mjpeg' | 'other'

export interface HttpFacts extends SourceFacts {
  readonly content: HttpContent
  /** What the segments of a playlist are. */
  readonly segments?: 'mpegts' | 'other'
}

const HTTP = { name: 'HTTP', schemes: ['http', 'https'] } as const
/** Redirects and the answer to a 401. */
const MAX_REQUESTS = 6

/** Demuxed as they come, with one connection; other files are read by GStreamer, which seeks in them, unless credentials would go along. */
const PIPED: ReadonlySet<HttpContent> = new Set(['mpegts', 'flv', 'mjpeg'])

/** Probes an HTTP source by the status and headers of its response, which goes on where it can be piped to a child. Throws Fault. */
export const probeHttp = async (
  address: Address,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<HttpFacts> => {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  const source = address.shown
  const { response, address: final } = await requestMedia(address, deadline).catch((error: unknown) => {
    throw requestFault(error, { source, protocol: 'HTTP', signal, deadline, timeoutMs })
  })
  const type = response.headers['content-type'] ?? ''
  const isPage = /^text\/html\b/i.test(type)
  const fault =
    statusFault(response.statusCode ?? 0, source, address.user !== undefined) ??
    (isPage ? new Fault('unsupported', `${source} is a web page. Use the address of its video stream.`) : undefined)
  if (fault !== undefined) {
    response.destroy()
    throw fault
  }
  const content = contentOf(type, final.path.split('?')[0] ?? '')
  const klv = content === 'mjpeg' || content === 'flv' ? false : null
  // A playlist, and a response with a length, are recordings or come in segments: faster than real time.
  const paced = content === 'hls' || (content !== 'mjpeg' && response.headers['content-length'] !== undefined)
  const facts = { content, video: content === 'mjpeg' ? 'JPEG' : null, klv, frameRate: null, paced }
  if (content === 'hls') return { ...facts, ...(await readPlaylist(address, response, { final, signal, deadline, timeoutMs })) }
  if (PIPED.has(content) || address.user !== undefined) {
    const isContainer = content === 'mpegts' || content === 'flv'
    const container = isContainer ? ({ format: content, pace: paced ? 'recorded' : 'live' } as const) : undefined
    return {
      ...facts,
      body: { stream: response, ...(container && { container }), ...(content === 'mjpeg' && { caps: MULTIPART }) },
    }
  }
  response.destroy()
  return facts
}

interface PlaylistRequest {
  /** Where it came from. */
  readonly final: Address
  readonly signal: AbortSignal
  readonly deadline: AbortSignal
  readonly timeoutMs: number
}

const readPlaylist = async (
  source: Address,
  response: IncomingMessage,
  { final, ...request }: PlaylistRequest,
): Promise<Pick<HttpFacts, 'body' | 'segments'>> => {
  const ip = response.socket.remoteAddress ?? ''
  try {
    const bytes = await readBody(response, { maxBytes: MAX_PLAYLIST_BYTES, deadline: request.deadline, shown: final.shown })
    const { stream, format } = await openHls(source, { bytes, address: final, ip }, request.signal)
    return format === 'mpegts'
      ? { body: { stream, container: { format, pace: 'recorded' } }, segments: format }
      : { body: { stream }, segments: 'other' }
  } catch (error) {
    throw requestFault(error, { source: source.shown, protocol: 'HTTP', ...request })
  }
}

const MULTIPART = 'multipart/x-mixed-replace'

/** The final response after credentials and redirects, and the address it came from. */
const requestMedia = async (
  start: Address,
  signal: AbortSignal,
): Promise<{ readonly response: IncomingMessage; readonly address: Address }> => {
  let address = start
  let authorization: string | undefined
  for (let requests = 1; ; requests++) {
    const response = await get(address, { authorization, signal })
    const { location, 'www-authenticate': challenge } = response.headers
    const last = requests >= MAX_REQUESTS
    if (response.statusCode === 401 && authorization === undefined && address.user !== undefined && !last) {
      const authorizer = new Authorizer({ user: address.user, password: address.password ?? '' })
      if (challenge !== undefined && authorizer.challenge([challenge])) authorization = authorizer.header('GET', address.path)
      if (authorization !== undefined) {
        response.destroy()
        continue
      }
    }
    const status = response.statusCode ?? 0
    if (status < 300 || status >= 400 || location === undefined) return { response, address }
    response.destroy()
    if (last) throw new Fault('source_error', `${start.shown} redirects too often. Use the final address as source.uri.`)
    const absolute = URL.canParse(location, address.bare) ? new URL(location, address.bare).href : location
    address = redirectedAddress(address, absolute, HTTP)
    authorization = undefined
  }
}

const BY_TYPE: readonly (readonly [RegExp, HttpContent])[] = [
  [/^(?:application|audio)\/(?:vnd\.apple\.mpegurl|x-mpegurl|mpegurl)\b/i, 'hls'],
  [/^multipart\/x-mixed-replace\b/i, 'mjpeg'],
  [/^video\/(?:mp2t|mpegts)\b/i, 'mpegts'],
  [/^video\/(?:x-)?flv\b/i, 'flv'],
]
const BY_NAME: readonly (readonly [RegExp, HttpContent])[] = [
  [/\.m3u8?$/i, 'hls'],
  [/\.(?:ts|mts|m2ts)$/i, 'mpegts'],
  [/\.flv$/i, 'flv'],
]

const contentOf = (type: string, path: string): HttpContent =>
  BY_TYPE.find(([pattern]) => pattern.test(type))?.[1] ?? BY_NAME.find(([pattern]) => pattern.test(path))?.[1] ?? 'other'
