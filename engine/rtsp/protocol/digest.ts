import { createHash } from 'node:crypto'

/** `algorithm` (RFC 7616 section 6.1) → hash function, in lower case. */
const HASHES: ReadonlyMap<string, string> = new Map([
  ['md5', 'md5'],
  ['sha-256', 'sha256'],
  ['sha-512-256', 'sha512-256'],
])

interface DigestAlgorithm {
  readonly hash: string
  /** With `-sess`, the client's nonce is a part of the secret. */
  readonly session: boolean
}

/** Undefined for an algorithm that is not supported. A missing one means MD5. */
export const digestAlgorithm = (name = 'MD5'): DigestAlgorithm | undefined => {
  const plain = name.toLowerCase().replace(/-sess$/, '')
  const hash = HASHES.get(plain)
  return hash === undefined ? undefined : { hash, session: plain.length < name.length }
}

interface DigestInput {
  readonly algorithm: DigestAlgorithm
  readonly username: string
  readonly realm: string
  readonly password: string
  readonly method: string
  readonly uri: string
  readonly nonce: string
  readonly cnonce: string
  /** Count of requests with this nonce, of `qop=auth`; undefined in the older form of RFC 2069, which live555 and GStreamer use. */
  readonly nc: string | undefined
}

/** The `response` of Digest, in lower-case hexadecimal (RFC 7616 section 3.4.1; without qop, RFC 2617 section 3.2.2.1). */
export const digestResponse = ({ algorithm, nonce, cnonce, nc, ...input }: DigestInput): string => {
  const hash = (text: string): string => createHash(algorithm.hash).update(text).digest('hex')
  const credentials = hash(`${input.username}:${input.realm}:${input.password}`)
  const secret = algorithm.session ? hash(`${credentials}:${nonce}:${cnonce}`) : credentials
  const middle = nc === undefined ? nonce : `${nonce}:${nc}:${cnonce}:auth`
  return hash(`${secret}:${middle}:${hash(`${input.method}:${input.uri}`)}`)
}
