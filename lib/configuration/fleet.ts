import type { Parsed } from './parsers.ts'

/** The servers of a fleet, with the credentials to join it. */
export interface NatsServers {
  /** `host:port` */
  readonly servers: readonly string[]
  /** The connection is refused unless it is encrypted. */
  readonly tls: boolean
  readonly user?: string
  readonly password?: string
  readonly token?: string
}

const ADVICE =
  'use an address such as nats://user:password@nats.example.org:4222 or tls://…, several separated by commas; encode other characters than letters and digits in user and password (@ is %40)'
const DEFAULT_PORT = 4222
const MAX_SERVERS = 16

const mistake = <T>(text: string): Parsed<T> => ({ mistake: text })

/** Addresses of NATS servers. User and password, or a token, stand in the first that has any. */
export const natsServers = (value: string): Parsed<NatsServers> => {
  const urls = value.split(/,(?=[a-z]{1,8}:\/\/)/).map((text) => (isAddress(text) ? new URL(text) : undefined))
  if (urls.length > MAX_SERVERS) return mistake(`use at most ${MAX_SERVERS} servers`)
  const known = urls.filter((url) => url !== undefined)
  if (known.length < urls.length) return mistake(ADVICE)
  const servers = known.map(({ hostname, port }) => `${hostname}:${port || DEFAULT_PORT}`)
  const tls = known.some(({ protocol }) => protocol === 'tls:')
  const credentials = credentialsOf(known.find(({ username }) => username !== ''))
  return credentials === undefined ? mistake(ADVICE) : { value: { servers, tls, ...credentials } }
}

const HOST = /^(?:[A-Za-z0-9._-]{1,255}|\[[0-9a-f:.]{2,45}\])$/

const isAddress = (text: string): boolean => {
  if (!/^(?:nats|tls):\/\/[^/]/.test(text) || !URL.canParse(text)) return false
  const { hostname, pathname, search, hash, username, password } = new URL(text)
  return HOST.test(hostname) && /^\/?$/.test(pathname) && search === '' && hash === '' && (username !== '' || password === '')
}

/** Undefined when they are not encoded as an address needs them. */
const credentialsOf = (url: URL | undefined): Omit<NatsServers, 'servers' | 'tls'> | undefined => {
  if (url === undefined) return {}
  try {
    const user = decodeURIComponent(url.username)
    return url.password === '' ? { token: user } : { user, password: decodeURIComponent(url.password) }
  } catch {
    return undefined
  }
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** Whether a host can have this name. */
export const isFleetHostName = (name: string): boolean => NAME.test(name)

/** The name of a host in its fleet, which is a part of subjects and keys there: dots become dashes. */
export const fleetHostName = (value: string): Parsed<string> => {
  const name = value.replaceAll('.', '-')
  return isFleetHostName(name) ? { value: name } : mistake('use 1 to 64 letters, digits, dashes and underscores')
}

/** The name of a host that has none of its own in the fleet. */
export const fleetHostNameOf = (hostname: string): string => hostname.replaceAll(/[^A-Za-z0-9_-]/g, '-').slice(0, 64) || 'host'

/** By their names. */
export type Labels = Readonly<Record<string, string>>

const LABEL = /^([A-Za-z0-9_-]{1,64})=([A-Za-z0-9._-]{1,64})$/
const MAX_LABELS = 32

/** `site=north,kind=gate` */
export const fleetLabels = (value: string): Parsed<Labels> => {
  const pairs = value.split(',').map((text) => LABEL.exec(text.trim()))
  const known = pairs.flatMap((pair) => (pair === null ? [] : [[pair[1] ?? '', pair[2] ?? ''] as const]))
  const names = new Set(known.map(([name]) => name))
  return known.length === pairs.length && names.size === pairs.length && names.size <= MAX_LABELS
    ? { value: Object.fromEntries(known) }
    : mistake(`use name=value with letters, digits, dashes and underscores, at most ${MAX_LABELS}, separated by commas; each name once`)
}
