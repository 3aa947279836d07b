import { createHash, randomBytes } from 'node:crypto'

export interface Credentials {
  readonly user: string
  readonly password: string
}

interface Challenge {
  readonly scheme: 'basic' | 'digest'
  readonly parameters: ReadonlyMap<string, string>
}

const SCHEME = /(?:^|,)\s*(basic|digest)\s+/gi
const PARAMETER = /([a-z-]{1,32})\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^\s,"]*))/gi
const MAX_CHALLENGE = 4096

/** Parses WWW-Authenticate, where one line may hold several challenges (RFC 7235 section 4.1). */
const parseChallenges = (header: string): readonly Challenge[] => {
  const text = header.slice(0, MAX_CHALLENGE)
  const starts = [...text.matchAll(SCHEME)]
  return starts.map((start, index) => {
    const body = text.slice((start.index ?? 0) + start[0].length, starts[index + 1]?.index)
    const parameters = new Map<string, string>()
    for (const [, name = '', quoted, token] of body.matchAll(PARAMETER)) {
      parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? token ?? '')
    }
    return { scheme: start[1]?.toLowerCase() === 'digest' ? 'digest' : 'basic', parameters }
  })
}

/** `algorithm` of a challenge → hash (RFC 7616 section 6.1). */
const HASHES: Readonly<Record<string, string>> = { md5: 'md5', 'sha-256': 'sha256', 'sha-512-256': 'sha512-256' }

const algorithmOf = ({ parameters }: Challenge): string => (parameters.get('algorithm') ?? 'MD5').toLowerCase()
const hashOf = (challenge: Challenge): string | undefined => HASHES[algorithmOf(challenge).replace(/-sess$/, '')]

/** Higher is stronger; 0 for a challenge that is not supported. */
const strength = (challenge: Challenge): number => {
  if (challenge.scheme === 'basic') return 1
  const hash = hashOf(challenge)
  const qop = challenge.parameters.get('qop')
  const supported = hash !== undefined && challenge.parameters.has('nonce') && (qop === undefined || /\bauth\b(?!-)/i.test(qop))
  return supported ? (hash === 'md5' ? 2 : 3) : 0
}

const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

interface AuthorizedRequest {
  readonly method: string
  readonly uri: string
  /** How often its nonce has been used, this time included. */
  readonly count: number
}

const digest = (challenge: Challenge, { user, password }: Credentials, { method, uri, count }: AuthorizedRequest): string => {
  const { parameters } = challenge
  const hash = (text: string): string =>
    createHash(hashOf(challenge) ?? 'md5')
      .update(text)
      .digest('hex')
  const realm = parameters.get('realm') ?? ''
  const nonce = parameters.get('nonce') ?? ''
  const hasQop = parameters.has('qop')
  const session = algorithmOf(challenge).endsWith('-sess')
  const cnonce = randomBytes(12).toString('hex')
  const nonceCount = count.toString(16).padStart(8, '0')
  const secret = hash(`${user}:${realm}:${password}`)
  const first = session ? hash(`${secret}:${nonce}:${cnonce}`) : secret
  const second = hash(`${method}:${uri}`)
  const response = hash(hasQop ? `${first}:${nonce}:${nonceCount}:${cnonce}:auth:${second}` : `${first}:${nonce}:${second}`)
  const fields = [
    `username=${quote(user)}`,
    `realm=${quote(realm)}`,
    `nonce=${quote(nonce)}`,
    `uri=${quote(uri)}`,
    `response="${response}"`,
    ...(parameters.has('algorithm') ? [`algorithm=${parameters.get('algorithm')}`] : []),
    ...(parameters.has('opaque') ? [`opaque=${quote(parameters.get('opaque') ?? '')}`] : []),
    ...(hasQop ? ['qop=auth', `nc=${nonceCount}`] : []),
    ...(hasQop || session ? [`cnonce="${cnonce}"`] : []),
  ]
  return `Digest ${fields.join(', ')}`
}

/** The strongest of the challenges that is supported. */
const bestOf = (headers: readonly string[]): Challenge | undefined =>
  headers.flatMap(parseChallenges).reduce<Challenge | undefined>((a, b) => (strength(b) > (a ? strength(a) : 0) ? b : a), undefined)

/** Whether only the nonce has expired: the credentials may still be right (RFC 7616 section 3.3). */
const isStale = (headers: readonly string[]): boolean =>
  headers.flatMap(parseChallenges).some(({ parameters }) => parameters.get('stale')?.toLowerCase() === 'true')

const answer = (challenge: Challenge, credentials: Credentials, request: AuthorizedRequest): string =>
  challenge.scheme === 'digest'
    ? digest(challenge, credentials, request)
    : `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}`

/**
 * The Authorization header for the challenges of a 401: Digest (RFC 7616, RFC 2617; MD5 and SHA-256, qop=auth or none) before Basic
 * (RFC 7617). Undefined when no challenge is supported.
 */
export const authorize = (
  headers: readonly string[],
  credentials: Credentials,
  request: { readonly method: string; readonly uri: string },
): string | undefined => {
  const best = bestOf(headers)
  return best === undefined ? undefined : answer(best, credentials, { ...request, count: 1 })
}

/**
 * The credentials of one source, and the newest challenge of its server, for any number of requests. A server that has rejected them
 * does not get them again, since cameras lock after repeated wrong passwords.
 */
export class Authorizer {
  readonly #credentials: Credentials | undefined
  #challenge: Challenge | undefined
  #count = 0
  #accepted = false

  constructor(credentials: Credentials | undefined) {
    this.#credentials = credentials
  }

  /** The Authorization header of a request; undefined before the first challenge. */
  header(method: string, uri: string): string | undefined {
    const [challenge, credentials] = [this.#challenge, this.#credentials]
    if (challenge === undefined || credentials === undefined) return undefined
    this.#count += 1
    return answer(challenge, credentials, { method, uri, count: this.#count })
  }

  /** The server has accepted the credentials: a 401 with another nonce is no rejection from now on, also if it does not say stale. */
  accepted(): void {
    this.#accepted = this.#challenge !== undefined
  }

  /** Takes the challenges (WWW-Authenticate) of a 401. Answers whether the request is worth repeating. */
  challenge(headers: readonly string[]): boolean {
    const challenge = bestOf(headers)
    if (challenge === undefined || this.#credentials === undefined) return false
    const renewed = this.#accepted && challenge.parameters.get('nonce') !== this.#challenge?.parameters.get('nonce')
    if (this.#challenge !== undefined && !isStale(headers) && !renewed) return false
    this.#challenge = challenge
    this.#count = 0
    return true
  }
}
