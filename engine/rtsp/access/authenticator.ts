import { createHash, timingSafeEqual } from 'node:crypto'
import type { Log } from '../../../lib/ports.ts'
import { type Authentication, parseAuthentication } from '../protocol/authentication.ts'
import { digestAlgorithm, digestResponse } from '../protocol/digest.ts'
import type { HeaderFields } from '../protocol/format-message.ts'
import type { RtspRequest } from '../protocol/message.ts'
import { parseRequestUrl } from '../protocol/request-url.ts'
import { FailedAttempts } from './failed-attempts.ts'
import { Nonces } from './nonces.ts'

export interface ReaderCredentials {
  readonly username: string
  readonly password: string
}

/** The response to a request that is not admitted. */
interface Refusal {
  readonly status: number
  readonly headers: HeaderFields
  /** Close the connection after this response. */
  readonly close: boolean
}

/** Checks the credentials of one connection's requests. */
export interface Gate {
  /** Undefined when the request is admitted. */
  refuse(request: RtspRequest): Refusal | undefined
}

interface Peer {
  readonly address: string
  /** Inside TLS, where Basic is allowed. */
  readonly secure: boolean
}

interface AuthenticatorOptions {
  readonly log: Log
  /** Wrong credentials per minute and address. */
  readonly failuresPerMinute: number
  readonly nowMs?: () => number
}

const REALM = 'video-pipeline-service'
/** The algorithms that are offered, the strongest first. */
const ALGORITHMS = ['SHA-256', 'MD5']

type Verdict = 'right' | 'stale' | 'wrong'

/** Requires user name and password of readers (RFC 7616, RFC 7617) while credentials are set. */
export class Authenticator {
  readonly #log: Log
  readonly #nowMs: () => number
  readonly #failures: FailedAttempts
  #credentials: ReaderCredentials | undefined

  constructor(options: AuthenticatorOptions) {
    this.#log = options.log
    this.#nowMs = options.nowMs ?? (() => performance.now())
    this.#failures = new FailedAttempts(options.failuresPerMinute)
  }

  /** Sets the credentials that readers need, undefined for none. Returns whether connected readers must be disconnected. */
  require(credentials: ReaderCredentials | undefined): boolean {
    const { username, password } = this.#credentials ?? {}
    const changed = credentials !== undefined && (credentials.username !== username || credentials.password !== password)
    this.#credentials = credentials
    return changed
  }

  gate(peer: Peer): Gate {
    const nonces = new Nonces()
    return { refuse: (request) => (this.#credentials === undefined ? undefined : this.#refuse(this.#credentials, peer, nonces, request)) }
  }

  #refuse(credentials: ReaderCredentials, peer: Peer, nonces: Nonces, request: RtspRequest): Refusal | undefined {
    const nowMs = this.#nowMs()
    const headers = request.headers.all('authorization')
    if (headers.length === 0) return challenge(peer, nonces.issue(nowMs))
    const waitMs = this.#failures.waitMs(peer.address, nowMs)
    if (waitMs > 0) return tooManyFailures(waitMs)
    const verdict = judge(credentials, peer, nonces, request, headers.flatMap(parseAuthentication), nowMs)
    if (verdict === 'right') return undefined
    if (verdict === 'stale') return challenge(peer, nonces.issue(nowMs), ', stale=true')
    this.#failures.add(peer.address, nowMs)
    const last = this.#failures.waitMs(peer.address, nowMs) > 0
    this.#log.info('rtsp_credentials_refused', { remote: peer.address, method: request.method, closed: last })
    const refusal = challenge(peer, nonces.issue(nowMs))
    return last ? { ...refusal, headers: { ...refusal.headers, Connection: 'close' }, close: true } : refusal
  }
}

/**
 * 401 with a challenge per scheme. live555 and ffmpeg use the last Digest challenge, so that is the one which all clients support;
 * live555 expects realm, nonce and stale first, in this order.
 */
const challenge = ({ secure }: Peer, nonce: string, stale = ''): Refusal => {
  const digests = ALGORITHMS.map((algorithm) => `Digest realm="${REALM}", nonce="${nonce}"${stale}, algorithm=${algorithm}, qop="auth"`)
  const schemes = secure ? [...digests, `Basic realm="${REALM}"`] : digests
  return { status: 401, headers: { 'WWW-Authenticate': schemes }, close: false }
}

/** Right credentials are refused as well: otherwise guessing would go on. */
const tooManyFailures = (waitMs: number): Refusal => ({
  status: 503,
  headers: { 'Retry-After': Math.ceil(waitMs / 1000), Connection: 'close' },
  close: true,
})

const judge = (
  credentials: ReaderCredentials,
  { secure }: Peer,
  nonces: Nonces,
  request: RtspRequest,
  [given, ...others]: readonly Authentication[],
  nowMs: number,
): Verdict => {
  if (given === undefined || given.malformed || others.length > 0) return 'wrong'
  if (given.scheme === 'digest') return judgeDigest(credentials, nonces, request, given.parameters, nowMs)
  // RFC 7617 section 2.
  const isRight = equal(Buffer.from(given.token, 'base64').toString('utf8'), `${credentials.username}:${credentials.password}`)
  return secure && isRight ? 'right' : 'wrong'
}

const judgeDigest = (
  { username, password }: ReaderCredentials,
  nonces: Nonces,
  request: RtspRequest,
  parameters: ReadonlyMap<string, string>,
  nowMs: number,
): Verdict => {
  const { method } = request
  const [nonce = '', uri = '', cnonce = ''] = ['nonce', 'uri', 'cnonce'].map((name) => parameters.get(name))
  const name = parameters.get('algorithm') ?? 'MD5'
  const algorithm = ALGORITHMS.includes(name.toUpperCase()) ? digestAlgorithm(name) : undefined
  const nc = nonceCountOf(parameters)
  if (algorithm === undefined || nc === 'malformed') return 'wrong'
  const expected = digestResponse({ algorithm, username, realm: REALM, password, method, uri, nonce, cnonce, nc })
  const right = [
    equal(parameters.get('username') ?? '', username),
    equal((parameters.get('response') ?? '').toLowerCase(), expected),
    pathOf(uri) !== undefined && pathOf(uri) === pathOf(request.url),
  ]
  if (!right.every((each) => each)) return 'wrong'
  // Only a client that knows the password learns that the nonce is the mistake.
  return nonces.use(nonce, nc === undefined ? undefined : Number.parseInt(nc, 16), nowMs) ? 'right' : 'stale'
}

/** `nc` with `qop=auth`, undefined without qop (RFC 7616 section 3.4). */
const nonceCountOf = (parameters: ReadonlyMap<string, string>): string | undefined | 'malformed' => {
  const qop = parameters.get('qop')
  if (qop === undefined) return undefined
  const nc = parameters.get('nc') ?? ''
  return qop.toLowerCase() === 'auth' && /^[0-9a-f]{8}$/i.test(nc) && parameters.get('cnonce') ? nc : 'malformed'
}

/** The mount that a URL or an absolute path names: it must be the same for both ends (RFC 7616 section 3.4.6). */
const pathOf = (url: string): string | undefined => parseRequestUrl(url.startsWith('/') ? `rtsp://${url}` : url)?.mountPath

/** In constant time; digests have the same length whatever the texts. */
const equal = (one: string, other: string): boolean => {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
