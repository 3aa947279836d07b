import { Fault } from '../fault.ts'

/** A source address taken apart. Credentials are percent-decoded and kept apart, so that what is shown never holds them. */
export interface Address {
  readonly scheme: string
  /** Without brackets. */
  readonly host: string
  readonly port: number | undefined
  /** Path and query as given, `/` at least. */
  readonly path: string
  readonly query: URLSearchParams
  readonly user: string | undefined
  readonly password: string | undefined
  /** The address without credentials: for properties and for messages. */
  readonly bare: string
}

// RFC 3986 appendix B. URL would normalize what a camera compares as text, and for schemes it does not know it keeps hosts as they are.
const URI = /^([a-z][a-z0-9+.-]*):\/\/(?:([^/?#]*)@)?(\[[^\]/?#]*\]|[^/?#:@]*)(?::(\d{0,5}))?([/?][^#]*)?(?:#.*)?$/i

// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
const CONTROL = /[\u0000-\u001f\u007f]/

const decode = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  let decoded = text
  try {
    decoded = decodeURIComponent(text)
  } catch {
    // A lone % is what a password looks like that was never encoded: taken as it is.
  }
  if (CONTROL.test(decoded)) throw new Fault('unsupported', 'The user name or password in source.uri holds a control character.')
  return decoded
}

/** Splits a source address. Fault unsupported when it cannot be read. */
export const parseAddress = (uri: string): Address => {
  const match = URI.exec(uri)
  if (!match) throw new Fault('unsupported', 'The source address cannot be read. Use scheme://host:port/path.')
  const [, scheme = '', userInfo, bracketed = '', portText = '', rest = ''] = match
  const port = portText === '' ? undefined : Number(portText)
  if (port !== undefined && (port < 1 || port > 65535)) throw new Fault('unsupported', 'The port of the source address must be 1 to 65535.')
  const colon = userInfo?.indexOf(':') ?? -1
  const path = rest.startsWith('/') ? rest : `/${rest}`
  const question = path.indexOf('?')
  return {
    scheme: scheme.toLowerCase(),
    host: bracketed.replace(/^\[|\]$/g, ''),
    port,
    path,
    query: new URLSearchParams(question === -1 ? '' : path.slice(question + 1)),
    user: decode(userInfo === undefined || colon === -1 ? userInfo : userInfo.slice(0, colon)),
    password: decode(userInfo === undefined || colon === -1 ? undefined : userInfo.slice(colon + 1)),
    bare: `${scheme.toLowerCase()}://${bracketed}${portText === '' ? '' : `:${portText}`}${rest}`,
  }
}
