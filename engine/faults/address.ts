import { maskUri } from '../../lib/credentials/mask.ts'
import { percentDecoded } from '../../lib/uri/percent-decoded.ts'
import { Fault } from './fault.ts'

/** The parts of a source address; credentials are percent-decoded. */
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
  /** The address without user and password, for properties of elements. */
  readonly bare: string
  /** The address for messages: also the credentials in its query are masked. */
  readonly shown: string
}

// RFC 3986 appendix B. The URL class would normalize what some cameras compare as text, and does not parse the hosts of schemes it does not know.
const URI = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([/?][^#]*)?(?:#.*)?$/i
/** Host and port, without the user information before them. */
const SERVER = /^(\[[^\]]*\]|[^:]*)(?::(\d{0,5}))?$/

// biome-ignore lint/suspicious/noControlCharactersInRegex: it rejects control characters
const CONTROL = /[\u0000-\u001f\u007f]/

const decode = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const decoded = percentDecoded(text)
  if (CONTROL.test(decoded))
    throw new Fault('unsupported', 'The user name or password in source.uri contains a control character. Correct it.')
  return decoded
}

/** RTSP over TLS (RFC 7826 section 19.2). */
export const RTSPS_PORT = 322

/** Parses a source address. Fault unsupported when it is malformed. */
export const parseAddress = (uri: string): Address => {
  const [, scheme = '', authority = '', rest = ''] = URI.exec(uri) ?? []
  const at = authority.lastIndexOf('@')
  const userInfo = at === -1 ? undefined : authority.slice(0, at)
  const server = SERVER.exec(authority.slice(at + 1))
  if (scheme === '' || server === null) throw new Fault('unsupported', 'The source address cannot be read. Use scheme://host:port/path.')
  const [, bracketed = '', portText = ''] = server
  const port = portText === '' ? undefined : Number(portText)
  if (port !== undefined && (port < 1 || port > 65535)) throw new Fault('unsupported', 'The port of the source address must be 1 to 65535.')
  const colon = userInfo?.indexOf(':') ?? -1
  const path = rest.startsWith('/') ? rest : `/${rest}`
  const question = path.indexOf('?')
  const bare = `${scheme.toLowerCase()}://${bracketed}${portText === '' ? '' : `:${portText}`}${rest}`
  return {
    scheme: scheme.toLowerCase(),
    host: bracketed.replace(/^\[|\]$/g, ''),
    port,
    path,
    query: new URLSearchParams(question === -1 ? '' : path.slice(question + 1)),
    user: decode(userInfo === undefined || colon === -1 ? userInfo : userInfo.slice(0, colon)),
    password: decode(userInfo === undefined || colon === -1 ? undefined : userInfo.slice(colon + 1)),
    bare,
    shown: maskUri(bare),
  }
}

/** RTSP over TLS, and HTTP over TLS. */
const isSecure = ({ scheme }: Address): boolean => scheme === 'rtsps' || scheme === 'https'

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  rtsp: 554,
  rtspt: 554,
  rtsps: RTSPS_PORT,
  rtmp: 1935,
  rtmps: 443,
  http: 80,
  https: 443,
}

const portOf = ({ port, scheme }: Address): number | undefined => port ?? DEFAULT_PORTS[scheme]

/** The server that a source of this scheme is connected to over TCP; undefined for other schemes. */
export const serverOf = (address: Address): { readonly host: string; readonly port: number } | undefined => {
  const port = Object.hasOwn(DEFAULT_PORTS, address.scheme) ? portOf(address) : undefined
  return port === undefined ? undefined : { host: address.host, port }
}

/** Whether both addresses name the same server, with the same protection on the way. */
export const sameServer = (one: Address, other: Address): boolean =>
  isSecure(one) === isSecure(other) && one.host.toLowerCase() === other.host.toLowerCase() && portOf(one) === portOf(other)

/**
 * The address that a redirect leads to. Credentials are sent only to the server that the user named: same host, same port, and
 * never without TLS when source.uri has it. Fault unsupported when the redirect leaves the protocol, and
 * source_error when it has control characters, which no address has.
 */
export const redirectedAddress = (
  from: Address,
  location: string,
  protocol: { readonly name: string; readonly schemes: readonly string[] },
): Address => {
  if (CONTROL.test(location)) throw new Fault('source_error', `${from.shown} redirects to an address that cannot be read.`)
  const to = parseAddress(location)
  if (!protocol.schemes.includes(to.scheme)) {
    throw new Fault(
      'unsupported',
      `${from.shown} redirects to an address that is not ${protocol.name}. Use the final address as source.uri.`,
    )
  }
  if (to.user !== undefined || !sameServer(from, to)) return to
  return { ...to, user: from.user, password: from.password }
}
