import type { InterleavedFrame } from './interleaved.ts'

/** RFC 2326 section 6. */
export interface RtspRequest {
  readonly kind: 'request'
  readonly method: string
  readonly url: string
  /** `1.0`, or what the peer claims; a server responds 505 to anything else. */
  readonly version: string
  readonly headers: RtspHeaders
  readonly body: Buffer
}

/** RFC 2326 section 7. */
export interface RtspResponse {
  readonly kind: 'response'
  readonly status: number
  readonly reason: string
  readonly version: string
  readonly headers: RtspHeaders
  readonly body: Buffer
}

/** What either end of a connection may send. */
export type RtspMessage = RtspRequest | RtspResponse | InterleavedFrame

/** Header fields; names are case-insensitive (RFC 2326 section 4.2). */
export class RtspHeaders {
  readonly #values = new Map<string, string[]>()

  append(name: string, value: string): void {
    const key = name.toLowerCase()
    const values = this.#values.get(key)
    if (values) values.push(value)
    else this.#values.set(key, [value])
  }

  /** The first value of a header. */
  get(name: string): string | undefined {
    return this.#values.get(name.toLowerCase())?.[0]
  }

  /** All values of a header that may be repeated, such as WWW-Authenticate. */
  all(name: string): readonly string[] {
    return this.#values.get(name.toLowerCase()) ?? []
  }
}
