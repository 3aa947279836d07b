import { createHash, timingSafeEqual } from 'node:crypto'
import type { Log } from '../../../lib/ports.ts'
import { type Authorization, parseAuthorization } from '../protocol/authorization.ts'
import { DIGEST_HASHES, type DigestAlgorithm, digestResponse } from '../protocol/digest.ts'
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

type Verdict = 'right' | 'stale' | 'wrong'

/** Asks readers for user name and password (RFC 7616, RFC 7617), while credentials are set. */
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

  /** Sets the credentials that readers need, undefined for none. Returns whether readers that are there may not stay. */
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
    const authorization = headers.length === 1 ? parseAuthorization(headers[0] ?? '') : undefined
    const verdict = judge(credentials, peer, nonces, request, authorization, nowMs)
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
 * 401 with a header per scheme. live555 and ffmpeg use the last Digest that they find, so the one that all clients support is
 * the last; live555 expects realm, nonce and stale first, in this order.
 */
const challenge = ({ secure }: Peer, nonce: string, stale = ''): Refusal => {
  const digests = Object.keys(DIGEST_HASHES).map(
    (algorithm) => `Digest realm="${REALM}", nonce="${nonce}"${stale}, algorithm=${algorithm}, qop="auth"`,
  )
  const schemes = secure ? [...digests, `Basic realm="${REALM}"`] : digests
  return { status: 401, headers: { 'WWW-Authenticate': schemes }, close: false }
}

/** Not even right credentials are tried: otherwise guessing would go on. */
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
  authorization: Authorization | undefined,
  nowMs: number,
): Verdict => {
  if (authorization === undefined) return 'wrong'
  if (authorization.scheme === 'digest') return judgeDigest(credentials, nonces, request, authorization.parameters, nowMs)
  const right = [equal(authorization.username, credentials.username), equal(authorization.password, credentials.password)]
  return secure && right.every((each) => each) ? 'right' : 'wrong'
}

const judgeDigest = (
  { username, password }: ReaderCredentials,
  nonces: Nonces,
  request: RtspRequest,
  parameters: ReadonlyMap<string, string>,
  nowMs: number,
): Verdict => {
  const [nonce = '', uri = ''] = [parameters.get('nonce'), parameters.get('uri')]
  const algorithm = algorithmOf(parameters.get('algorithm'))
  const auth = qopOf(parameters)
  if (algorithm === undefined || auth === 'malformed') return 'wrong'
  const expected = digestResponse({ algorithm, username, realm: REALM, password, method: request.method, uri, nonce, auth })
  const right = [
    equal(parameters.get('username') ?? '', username),
    equal((parameters.get('response') ?? '').toLowerCase(), expected),
    pathOf(uri) !== undefined && pathOf(uri) === pathOf(request.url),
  ]
  if (!right.every((each) => each)) return 'wrong'
  // Only who knows the password learns that the nonce is the mistake.
  return nonces.use(nonce, auth && Number.parseInt(auth.nc, 16), nowMs) ? 'right' : 'stale'
}

const algorithmOf = (name = 'MD5'): DigestAlgorithm | undefined =>
  (Object.keys(DIGEST_HASHES) as DigestAlgorithm[]).find((algorithm) => algorithm.toLowerCase() === name.toLowerCase())

const qopOf = (parameters: ReadonlyMap<string, string>): { readonly nc: string; readonly cnonce: string } | undefined | 'malformed' => {
  const qop = parameters.get('qop')
  if (qop === undefined) return undefined
  const [nc = '', cnonce = ''] = [parameters.get('nc'), parameters.get('cnonce')]
  return qop.toLowerCase() === 'auth' && /^[0-9a-f]{8}$/i.test(nc) && cnonce !== '' ? { nc, cnonce } : 'malformed'
}

/** The mount that a URL or an absolute path names: what both ends must mean alike (RFC 7616 section 3.4.6). */
const pathOf = (url: string): string | undefined => parseRequestUrl(url.startsWith('/') ? `rtsp://${url}` : url)?.mountPath

/** In constant time; digests have the same length whatever the texts. */
const equal = (one: string, other: string): boolean => {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
