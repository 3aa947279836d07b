import { type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { type Address, redirectedAddress, redirection } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { requestFault, statusFault } from '../faults/network-faults.ts'
import { Authorizer } from '../rtsp/client/authorizer.ts'
import type { SourceFacts } from './source-kind.ts'

/** The content of an HTTP source, by its content type and name. */
type HttpContent = 'hls' | 'mpegts' | 'flv' | 'mjpeg' | 'other'

export interface HttpFacts extends SourceFacts {
  readonly content: HttpContent
  /** Where redirects led, of a source with credentials: souphttpsrc would send them wherever a redirect leads. */
  readonly redirectedTo?: Address
}

const HTTP = { name: 'HTTP', schemes: ['http', 'https'] } as const
/** Redirects and the answer to a 401. */
const MAX_REQUESTS = 6

/** Demuxed as they come, with one connection; playlists and other files are read by GStreamer, which seeks in them. */
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
  if (!PIPED.has(content)) response.destroy()
  const body = PIPED.has(content) ? { body: { stream: response, ...(content === 'mjpeg' && { caps: MULTIPART }) } } : {}
  return { ...body, content, video: content === 'mjpeg' ? 'JPEG' : null, klv, frameRate: null, paced, ...redirection(address, final) }
}

const MULTIPART = 'multipart/x-mixed-replace'

let authorities: SecureContext | undefined

/** The certificate authorities of the host, which the child trusts as well; Node.js has a list of its own. */
const hostAuthorities = (): SecureContext => {
  authorities ??= createSecureContext({ ca: getCACertificates('system') })
  return authorities
}

/** Sends GET; the body of the response waits. `signal` ends waiting for the response. */
const get = (address: Address, authorization: string | undefined, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const send = address.scheme === 'https' ? requestTls : request
    const sent = send(address.bare, {
      method: 'GET',
      agent: false,
      ...(address.scheme === 'https' && { secureContext: hostAuthorities() }),
      maxHeaderSize: 16 * 1024,
      headers: { accept: '*/*', 'user-agent': 'video-pipeline-service', ...(authorization !== undefined && { authorization }) },
    })
    const onAbort = (): void => void sent.destroy(signal.reason)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    sent.on('error', reject)
    // Without an error after an answer that is none to a GET: 101 Switching Protocols.
    sent.once('close', () => reject(new Error('The server answers no request')))
    sent.once('response', (response) => {
      signal.removeEventListener('abort', onAbort)
      // Without anybody who reads it.
      response.on('error', () => {})
      resolve(response)
    })
    sent.end()
  })

/** The final response after credentials and redirects, and the address it came from. */
const requestMedia = async (
  start: Address,
  signal: AbortSignal,
): Promise<{ readonly response: IncomingMessage; readonly address: Address }> => {
  let address = start
  let authorization: string | undefined
  for (let requests = 1; ; requests++) {
    const response = await get(address, authorization, signal)
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
