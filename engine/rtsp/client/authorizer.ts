import { randomBytes } from 'node:crypto'
import { type Authentication, parseAuthentication } from '../protocol/authentication.ts'
import { digestAlgorithm, digestResponse } from '../protocol/digest.ts'

export interface Credentials {
  readonly user: string
  readonly password: string
}

/** Higher is stronger; 0 for a challenge that is not supported. */
const strength = ({ scheme, parameters }: Authentication): number => {
  if (scheme === 'basic') return 1
  const algorithm = digestAlgorithm(parameters.get('algorithm'))
  const qop = parameters.get('qop')
  const supported = algorithm !== undefined && parameters.has('nonce') && (qop === undefined || /\bauth\b(?!-)/i.test(qop))
  return supported ? (algorithm.hash === 'md5' ? 2 : 3) : 0
}

const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

interface AuthorizedRequest {
  readonly method: string
  readonly uri: string
  /** How often its nonce has been used, this time included. */
  readonly count: number
}

/** Credentials of Digest (RFC 7616 section 3.4). */
const digest = ({ parameters }: Authentication, { user, password }: Credentials, { method, uri, count }: AuthorizedRequest): string => {
  const name = parameters.get('algorithm')
  const algorithm = digestAlgorithm(name) ?? { hash: 'md5', session: false }
  const [realm = '', nonce = '', opaque] = ['realm', 'nonce', 'opaque'].map((field) => parameters.get(field))
  const cnonce = randomBytes(12).toString('hex')
  const nc = parameters.has('qop') ? count.toString(16).padStart(8, '0') : undefined
  const response = digestResponse({ algorithm, username: user, realm, password, method, uri, nonce, cnonce, nc })
  const fields = [
    `username=${quote(user)}`,
    `realm=${quote(realm)}`,
    `nonce=${quote(nonce)}`,
    `uri=${quote(uri)}`,
    `response="${response}"`,
    ...(name === undefined ? [] : [`algorithm=${name}`]),
    ...(opaque === undefined ? [] : [`opaque=${quote(opaque)}`]),
    ...(nc === undefined ? [] : ['qop=auth', `nc=${nc}`]),
    ...(nc === undefined && !algorithm.session ? [] : [`cnonce="${cnonce}"`]),
  ]
  return `Digest ${fields.join(', ')}`
}

/** The strongest of the challenges that is supported. */
const bestOf = (challenges: readonly Authentication[]): Authentication | undefined =>
  challenges.reduce<Authentication | undefined>((a, b) => (strength(b) > (a ? strength(a) : 0) ? b : a), undefined)

/** Whether only the nonce has expired: the credentials may still be right (RFC 7616 section 3.3). */
const isStale = (challenges: readonly Authentication[]): boolean =>
  challenges.some(({ parameters }) => parameters.get('stale')?.toLowerCase() === 'true')

const answer = (challenge: Authentication, credentials: Credentials, request: AuthorizedRequest): string =>
  challenge.scheme === 'digest'
    ? digest(challenge, credentials, request)
    : `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}`

/**
 * The credentials of one source and the newest challenge of its server, for any number of requests: Digest (RFC 7616,
 * RFC 2617) before Basic (RFC 7617). Rejected credentials are not
 * sent again: cameras lock after repeated wrong passwords.
 */
export class Authorizer {
  readonly #credentials: Credentials | undefined
  #challenge: Authentication | undefined
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

  /** Takes the challenges (WWW-Authenticate) of a 401. Returns whether to repeat the request: false when no challenge is supported. */
  challenge(headers: readonly string[]): boolean {
    const challenges = headers.flatMap(parseAuthentication)
    const challenge = bestOf(challenges)
    if (challenge === undefined || this.#credentials === undefined) return false
    const renewed = this.#accepted && challenge.parameters.get('nonce') !== this.#challenge?.parameters.get('nonce')
    if (this.#challenge !== undefined && !isStale(challenges) && !renewed) return false
    this.#challenge = challenge
    this.#count = 0
    return true
  }
}
