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

// Each nonce is used for one request only.
const NONCE_COUNT = '00000001'

const digest = (challenge: Challenge, { user, password }: Credentials, method: string, uri: string): string => {
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
  const secret = hash(`${user}:${realm}:${password}`)
  const first = session ? hash(`${secret}:${nonce}:${cnonce}`) : secret
  const second = hash(`${method}:${uri}`)
  const response = hash(hasQop ? `${first}:${nonce}:${NONCE_COUNT}:${cnonce}:auth:${second}` : `${first}:${nonce}:${second}`)
  const fields = [
    `username=${quote(user)}`,
    `realm=${quote(realm)}`,
    `nonce=${quote(nonce)}`,
    `uri=${quote(uri)}`,
    `response="${response}"`,
    ...(parameters.has('algorithm') ? [`algorithm=${parameters.get('algorithm')}`] : []),
    ...(parameters.has('opaque') ? [`opaque=${quote(parameters.get('opaque') ?? '')}`] : []),
    ...(hasQop ? ['qop=auth', `nc=${NONCE_COUNT}`] : []),
    ...(hasQop || session ? [`cnonce="${cnonce}"`] : []),
  ]
  return `Digest ${fields.join(', ')}`
}

/**
 * The Authorization header for the challenges of a 401: Digest (RFC 7616, RFC 2617; MD5 and SHA-256, qop=auth or none) before Basic
 * (RFC 7617). Undefined when no challenge is supported.
 */
export const authorize = (
  headers: readonly string[],
  credentials: Credentials,
  request: { readonly method: string; readonly uri: string },
): string | undefined => {
  const challenges = headers.flatMap(parseChallenges)
  const best = challenges.reduce<Challenge | undefined>((a, b) => (strength(b) > (a ? strength(a) : 0) ? b : a), undefined)
  if (best === undefined) return undefined
  if (best.scheme === 'digest') return digest(best, credentials, request.method, request.uri)
  return `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}`
}

/** Whether only the nonce has expired: the credentials may still be right (RFC 7616 section 3.3). */
export const isStale = (headers: readonly string[]): boolean =>
  headers.flatMap(parseChallenges).some(({ parameters }) => parameters.get('stale')?.toLowerCase() === 'true')
