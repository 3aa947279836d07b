import { hostName } from './host-name.ts'

/** The origins and host names that belong to this service. */
export interface CallerRules {
  /** A reverse proxy sets X-Forwarded-Proto and X-Forwarded-Host. */
  readonly trustProxy?: boolean
  /** Host names besides those of this host, in lower case; `*`: any. */
  readonly allowedHosts?: readonly string[]
  /** Names of this host, in lower case. */
  readonly hostNames?: readonly string[]
}

/** The parts of a request that say where it comes from and where it goes to. */
interface Addressed {
  readonly method: string
  readonly url: string
  readonly headers: Pick<Headers, 'get'>
}

const CHANGING: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
/** Fetch metadata of a request that a page of another origin made. */
const OTHER_SITES: ReadonlySet<string> = new Set(['cross-site', 'same-site'])

/**
 * The origin of a page that is not part of this service, when its request would change something or load pictures or video; undefined
 * for every other request. A person who opens such an address is no page. Only browsers send `Origin` and `Sec-Fetch-Site`, and no page can forge them (fetch standard).
 */
export const foreignOrigin = (
  request: Addressed,
  rules: CallerRules,
  corsOrigins: readonly string[],
  { isMedia = false }: { readonly isMedia?: boolean | undefined } = {},
): string | undefined => {
  const { method, headers } = request
  const isChange = CHANGING.has(method)
  if (!isChange && !isMedia) return undefined
  const origin = headers.get('origin')
  if (origin === null) {
    const isOpened = !isChange && headers.get('sec-fetch-mode') === 'navigate'
    return OTHER_SITES.has(headers.get('sec-fetch-site') ?? '') && !isOpened ? 'another site' : undefined
  }
  return corsOrigins.includes(origin) || isOwn(origin, request, rules) ? undefined : origin
}

const isOwn = (origin: string, request: Addressed, rules: CallerRules): boolean => {
  const scheme = proxied(request, rules, 'proto') ?? new URL(request.url).protocol.replace(/:$/, '')
  const own = `${scheme}://${proxied(request, rules, 'host') ?? hostOf(request)}`
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).origin === new URL(own).origin
}

/**
 * The host name of the request, when it is not a name of this service. After DNS rebinding, a foreign page sends the name that it was
 * loaded from.
 */
export const unknownHost = (request: Addressed, rules: CallerRules, corsOrigins: readonly string[]): string | undefined => {
  // A preflight has no credentials; the request after it is checked.
  if (request.method === 'OPTIONS' && corsOrigins.includes(request.headers.get('origin') ?? '')) return undefined
  // Both: a page may set X-Forwarded-Host itself, and a proxy may replace Host.
  return unknownName(hostOf(request), rules) ?? unknownName(proxied(request, rules, 'host'), rules)
}

const unknownName = (host: string | undefined, rules: CallerRules): string | undefined => {
  if (host === undefined) return undefined
  const name = hostName(host) ?? host
  return isKnown(name, rules) ? undefined : name
}

const hostOf = ({ headers, url }: Addressed): string => headers.get('host') ?? new URL(url).host

/** The last entry, which the proxy has written; the client may have sent the others. */
const proxied = ({ headers }: Addressed, { trustProxy }: CallerRules, what: 'proto' | 'host'): string | undefined =>
  trustProxy === true ? headers.get(`x-forwarded-${what}`)?.split(',').at(-1)?.trim() || undefined : undefined

const IP_ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/

const isKnown = (name: string, { allowedHosts = [], hostNames = [] }: CallerRules): boolean =>
  IP_ADDRESS.test(name) ||
  name === 'localhost' ||
  name.endsWith('.localhost') ||
  hostNames.includes(name) ||
  allowedHosts.includes(name) ||
  allowedHosts.includes('*')
