import { randomBytes } from 'node:crypto'

const LIFETIME_MS = 5 * 60_000
/** Nonces of one connection that are valid at the same time; a reader uses the newest. */
const MAX_VALID = 8

/** The nonces of one connection (RFC 7616 section 3.3): random, valid on this connection only and for some minutes. */
export class Nonces {
  readonly #valid = new Map<string, { readonly issuedMs: number; lastCount: number }>()

  issue(nowMs: number): string {
    const nonce = randomBytes(18).toString('base64url')
    this.#valid.set(nonce, { issuedMs: nowMs, lastCount: 0 })
    if (this.#valid.size > MAX_VALID) this.#valid.delete(this.#valid.keys().next().value ?? nonce)
    return nonce
  }

  /** Whether the nonce is valid. `count`, the number of requests with it (`nc`), must increase: a request cannot be replayed. */
  use(nonce: string, count: number | undefined, nowMs: number): boolean {
    const known = this.#valid.get(nonce)
    if (known === undefined || nowMs - known.issuedMs > LIFETIME_MS) return false
    if (count === undefined) return true
    if (count <= known.lastCount) return false
    known.lastCount = count
    return true
  }
}
