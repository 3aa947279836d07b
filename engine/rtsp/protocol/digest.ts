import { createHash } from 'node:crypto'

/** `algorithm` of Digest (RFC 7616 section 6.1) → name of the hash function; the strongest first. */
export const DIGEST_HASHES = { 'SHA-256': 'sha256', MD5: 'md5' } as const

export type DigestAlgorithm = keyof typeof DIGEST_HASHES

interface DigestInput {
  readonly algorithm: DigestAlgorithm
  readonly username: string
  readonly realm: string
  readonly password: string
  readonly method: string
  readonly uri: string
  readonly nonce: string
  /** Of `qop=auth`; absent in the older form of RFC 2069, which live555 and GStreamer use. */
  readonly auth?: { readonly nc: string; readonly cnonce: string } | undefined
}

/** The `response` of Digest (RFC 7616 section 3.4.1, and RFC 2069 section 2.1.2 without qop), in lower-case hexadecimal. */
export const digestResponse = (input: DigestInput): string => {
  const hash = (text: string): string => createHash(DIGEST_HASHES[input.algorithm]).update(text).digest('hex')
  const secret = hash(`${input.username}:${input.realm}:${input.password}`)
  const request = hash(`${input.method}:${input.uri}`)
  const middle = input.auth === undefined ? input.nonce : `${input.nonce}:${input.auth.nc}:${input.auth.cnonce}:auth`
  return hash(`${secret}:${middle}:${request}`)
}
