import { percentDecoded } from './percent-decoded.ts'

interface Separated {
  /** The address without user name and password, which fetch refuses. */
  readonly href: string
  /** Of the header field, as Basic authentication has them (RFC 7617); undefined where the address has none. */
  readonly authorization: string | undefined
}

/** Takes user name and password out of an http:// or https:// address. */
export const withoutCredentials = (address: string): Separated => {
  const url = new URL(address)
  const { username, password } = url
  url.username = ''
  url.password = ''
  return { href: url.href, authorization: username === '' && password === '' ? undefined : basic(username, password) }
}

/** User name and password come from a URL, so they are percent-encoded. */
const basic = (username: string, password: string): string => {
  const bytes = new TextEncoder().encode(`${percentDecoded(username)}:${percentDecoded(password)}`)
  return `Basic ${btoa(String.fromCharCode(...bytes))}`
}
