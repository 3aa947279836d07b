import { createHash } from 'node:crypto'
import type { Authorize } from './reader.ts'

interface DigestOptions {
  readonly username?: string
  readonly password: string
  readonly algorithm?: 'MD5' | 'SHA-256'
  /** false: as live555, GStreamer and others that follow RFC 2069. */
  readonly qop?: boolean
  /** The `uri` parameter; the request's by default. */
  readonly uri?: string
}

/** Answers Digest challenges. Written from RFC 7616, and apart from the sources. */
export const digest = ({ username = 'viewer', password, algorithm = 'MD5', qop = false, uri }: DigestOptions): Authorize => {
  const hash = (text: string) =>
    createHash(algorithm === 'MD5' ? 'md5' : 'sha256')
      .update(text)
      .digest('hex')
  let count = 0
  return (challenges, method, url) => {
    const challenge = challenges.find((text) => text.includes(`algorithm=${algorithm},`)) ?? ''
    const field = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1] ?? ''
    const [realm, nonce, target] = [field('realm'), field('nonce'), uri ?? url]
    count += 1
    const nc = count.toString(16).padStart(8, '0')
    const middle = qop ? `${nonce}:${nc}:c0ffee:auth` : nonce
    const response = hash(`${hash(`${username}:${realm}:${password}`)}:${middle}:${hash(`${method}:${target}`)}`)
    const fields = `username="${username}", realm="${realm}", nonce="${nonce}", uri="${target}", response="${response}"`
    return `Digest ${fields}, algorithm=${algorithm}${qop ? `, qop=auth, nc=${nc}, cnonce="c0ffee"` : ''}`
  }
}

export const basic =
  (password: string, username = 'viewer'): Authorize =>
  () =>
    `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
