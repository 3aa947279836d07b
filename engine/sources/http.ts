import { type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { redact } from '../../lib/redact.ts'
import { Fault } from '../fault.ts'
import { type Address, parseAddress } from './address.ts'
import { authorize } from './authorization.ts'
import type { HttpContent, SourceFacts } from './facts.ts'
import { connectionFault, statusFault } from './rtsp-client.ts'

const MAX_REQUESTS = 6

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly challenges: readonly string[]
}

const head = (address: Address, authorization: string | undefined, signal: AbortSignal): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const send = address.scheme === 'https' ? requestTls : request
    const sent = send(address.bare, {
      method: 'GET',
      signal,
      agent: false,
      // Cameras sign their certificates themselves, as with rtsps.
      rejectUnauthorized: false,
      maxHeaderSize: 16 * 1024,
      headers: { accept: '*/*', 'user-agent': 'video-pipeline-service', ...(authorization !== undefined && { authorization }) },
    })
    sent.once('error', reject)
    sent.once('response', (response) => {
      const challenges = response.headers['www-authenticate']
      // A live stream has no end: the head is all that is wanted.
      response.on('error', () => {})
      sent.destroy()
      resolve({ status: response.statusCode ?? 0, headers: response.headers, challenges: challenges === undefined ? [] : [challenges] })
    })
    sent.end()
  })

const ask = async (start: Address, signal: AbortSignal): Promise<{ readonly answer: Answer; readonly address: Address }> => {
  let address = start
  let authorization: string | undefined
  for (let requests = 1; ; requests++) {
    const answer = await head(address, authorization, signal)
    const { location } = answer.headers
    const last = requests >= MAX_REQUESTS
    if (answer.status === 401 && authorization === undefined && address.user !== undefined && !last) {
      const credentials = { user: address.user, password: address.password ?? '' }
      authorization = authorize(answer.challenges, credentials, { method: 'GET', uri: address.path })
      if (authorization !== undefined) continue
    }
    if (answer.status < 300 || answer.status >= 400 || location === undefined) return { answer, address }
    if (last) throw new Fault('source_error', `${redact(start.bare)} redirects in circles.`)
    address = redirectTo(address, location)
    authorization = undefined
  }
}

const redirectTo = (from: Address, location: string): Address => {
  const to = parseAddress(URL.canParse(location, from.bare) ? new URL(location, from.bare).href : location)
  if (to.scheme !== 'http' && to.scheme !== 'https') {
    throw new Fault('unsupported', `${redact(from.bare)} redirects to an address that is not HTTP.`)
  }
  return to.host === from.host ? { ...to, user: from.user, password: from.password } : to
}

const BY_TYPE: readonly (readonly [RegExp, HttpContent])[] = [
  [/^(?:application|audio)\/(?:vnd\.apple\.mpegurl|x-mpegurl|mpegurl)\b/i, 'hls'],
  [/^multipart\/x-mixed-replace\b/i, 'mjpeg'],
  [/^video\/(?:mp2t|mpegts)\b/i, 'mpegts'],
]
const BY_NAME: readonly (readonly [RegExp, HttpContent])[] = [
  [/\.m3u8?$/i, 'hls'],
  [/\.(?:ts|mts|m2ts)$/i, 'mpegts'],
]

const contentOf = (type: string, path: string): HttpContent =>
  BY_TYPE.find(([pattern]) => pattern.test(type))?.[1] ?? BY_NAME.find(([pattern]) => pattern.test(path))?.[1] ?? 'other'

/** Asks an HTTP server, by the head of its answer, what it serves. Throws Fault in words for users. */
export const probeHttp = async (
  address: Address,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<SourceFacts> => {
  const deadline = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)])
  const where = redact(address.bare)
  const { answer, address: final } = await ask(address, deadline).catch((error: unknown) => {
    if (error instanceof Fault || options.signal.aborted) throw error
    if (deadline.aborted) throw new Fault('timeout', `${where} did not answer within ${Math.round(options.timeoutMs / 1000)} s.`)
    throw connectionFault(error, where) ?? new Fault('source_error', `${where} does not answer in HTTP.`, { cause: error })
  })
  const fault = statusFault(answer.status, where, address.user !== undefined)
  if (fault !== undefined) throw fault
  const type = answer.headers['content-type'] ?? ''
  if (/^text\/html\b/i.test(type)) throw new Fault('unsupported', `${where} is a web page, not a video stream.`)
  const http = contentOf(type, final.path.split('?')[0] ?? '')
  const klv = http === 'mjpeg' ? false : null
  // A playlist and whatever has a length are recordings, or read in pieces: they come faster than they are shown.
  const paced = http === 'hls' || (http !== 'mjpeg' && answer.headers['content-length'] !== undefined)
  return { kind: 'http', http, video: http === 'mjpeg' ? 'JPEG' : null, klv, frameRate: null, paced }
}
