import type { Address } from '../faults/address.ts'

const MAX_ORIGINS = 20
const MAX_COOKIES = 50
const MAX_LENGTH = 4096

const originOf = ({ bare }: Address): string => new URL(bare).origin

/** The cookies of a session of HTTP, each for the server alone that has set it (RFC 6265 without Domain, Path and expiry). */
export class CookieJar {
  readonly #cookies = new Map<string, Map<string, string>>()

  /** The Cookie field of a request; undefined without cookies. */
  header(address: Address): string | undefined {
    const cookies = this.#cookies.get(originOf(address))
    return cookies === undefined ? undefined : [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** Takes the Set-Cookie fields of a response. */
  store(address: Address, fields: readonly string[]): void {
    const origin = originOf(address)
    for (const field of fields.slice(0, MAX_COOKIES)) {
      const [pair = ''] = field.split(';', 1)
      const equals = pair.indexOf('=')
      const [name, value] = [pair.slice(0, Math.max(equals, 0)).trim(), pair.slice(equals + 1).trim()]
      const cookies = this.#cookies.get(origin) ?? new Map<string, string>()
      if (name === '' || pair.length > MAX_LENGTH || (cookies.size >= MAX_COOKIES && !cookies.has(name))) continue
      if (!this.#cookies.has(origin) && this.#cookies.size >= MAX_ORIGINS) continue
      this.#cookies.set(origin, cookies.set(name, value))
    }
  }
}
