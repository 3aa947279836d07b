import { LOG_LEVELS } from '../log/log.ts'
import type { LogLevel } from '../ports.ts'
import { redact } from '../redact.ts'

/** An inclusive range of TCP ports, as in `SVC_OUTPUT_PORTS=50000-55000`. */
export interface PortRange {
  readonly first: number
  readonly last: number
  /** It is one port for all outputs, as in `SVC_OUTPUT_PORTS=8554`; otherwise each gets a port of its own. */
  readonly shared?: true
}

/** Parses `first-last` (1024–65535, first not above last) or a single port, undefined when it is neither. */
const parsePortRange = (text: string): PortRange | undefined => {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text.trim())
  if (match === null) return undefined
  const first = Number(match[1])
  const range: PortRange = match[2] === undefined ? { first, last: first, shared: true } : { first, last: Number(match[2]) }
  return range.first >= 1024 && range.last <= 65535 && range.first <= range.last ? range : undefined
}

const SANDBOX_MODES = ['auto', 'required', 'off'] as const
/** auto: a sandbox where the host allows one; required: nothing runs without it. */
export type SandboxMode = (typeof SANDBOX_MODES)[number]

const RTSP_READERS = ['engine', 'child'] as const
/** engine: the engine reads them itself where it can; child: always a GStreamer process. */
export type RtspReader = (typeof RTSP_READERS)[number]

/** The service cannot start with this configuration; the message names the variable. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}

/** The configuration from the environment; every field is validated. */
export interface Configuration {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly databaseAuthToken: string | undefined
  readonly apiKey: string | undefined
  /** The password of the API where none is stored. */
  readonly password: string | undefined
  /** Whether the API may not listen beyond loopback without a password. */
  readonly requirePassword: boolean
  readonly engineUrl: string | undefined
  readonly engineToken: string | undefined
  /** Address at which a stand-alone engine listens. */
  readonly engineListen: { readonly host: string; readonly port: number } | undefined
  readonly mediaServer: { readonly host: string; readonly port: number }
  /** The API of a MediaMTX whose paths are watched; may hold credentials. */
  readonly mediaServerApi: string | undefined
  /** The paths that count when they are watched. */
  readonly mediaServerPaths: RegExp
  readonly outputPorts: PortRange
  /** Address of outputs whose `uri` names none. */
  readonly outputHost: string
  readonly outputTlsCert: string | undefined
  readonly outputTlsKey: string | undefined
  readonly outputTls: 'optional' | 'required'
  readonly licenseFile: string | undefined
  /** File of declared pipelines, applied at start. */
  readonly pipelinesFile: string | undefined
  readonly profile: 'docs' | undefined
  readonly docsPort: number
  /** Whether the dashboard is served. */
  readonly dashboard: boolean
  /** Template of the URLs of map tiles, with {z}, {x}, {y} and optionally {s}. */
  readonly mapTiles: string | undefined
  /** Whether file:// sources are allowed, or the folder in which they are. */
  readonly allowFileSources: boolean | string
  /** How children are confined. */
  readonly sandbox: SandboxMode
  /** Who reads RTSP sources that are passed through. */
  readonly rtspReader: RtspReader
  readonly trustProxy: boolean
  /** Header field in which the platform of a worker states the client's address. */
  readonly clientAddressHeader: string | undefined
  readonly corsOrigins: readonly string[]
  /** Host names besides those of this host, in lower case; `*`: any. */
  readonly allowedHosts: readonly string[]
  readonly logLevel: LogLevel
}

type Parsed<T> = { readonly value: T } | { readonly mistake: string }

interface Variable<T> {
  readonly name: string
  /** What is parsed when the variable is not set; undefined: nothing, and the value is `unset`. */
  readonly default: string | undefined
  readonly unset?: T
  /** The default as `--help` and the README show it. */
  readonly shown: string
  readonly about: string
  readonly secret?: true
  readonly parse: (text: string) => Parsed<T>
}

const ok = <T>(value: T): Parsed<T> => ({ value })
const mistake = <T>(text: string): Parsed<T> => ({ mistake: text })

const text = (value: string): Parsed<string> => ok(value)

const portNumber = (value: string): Parsed<number> =>
  /^\d{1,5}$/.test(value) && Number(value) <= 65535 ? ok(Number(value)) : mistake('use a port number from 0 to 65535')

const flag = (value: string): Parsed<boolean> =>
  value === '1' || value === 'true' ? ok(true) : value === '0' || value === 'false' ? ok(false) : mistake('use 0 or 1')

const url =
  (schemes: readonly string[]) =>
  (value: string): Parsed<string> =>
    URL.canParse(value) && schemes.includes(new URL(value).protocol)
      ? ok(value)
      : mistake(`use a URL that starts with one of: ${schemes.join(', ')}`)

/** A file without a path would be a database that is lost when the service ends. */
const databaseUrl = (value: string): Parsed<string> =>
  /^file:(?:\/\/)?(?:$|:memory:|[?#])/.test(value)
    ? mistake('name a file, such as file:///var/lib/video-pipelines.db')
    : url(['file:', 'libsql:', 'https:', 'http:'])(value)

/** What an API key may be. */
export const API_KEY: RegExp = /^[\x21-\x7e]{16,512}$/

/** It is sent in a header field. Files and secrets often end in a line break, which nobody sees. */
const bearer = (value: string): Parsed<string> =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)
    ? ok(value)
    : mistake('use printable ASCII characters, without a blank or line break at the end')

const HOST_AND_PORT = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/

const hostAndPort =
  (leastPort: number) =>
  (value: string): Parsed<{ host: string; port: number }> => {
    const [, host, digits] = HOST_AND_PORT.exec(value) ?? []
    const port = Number(digits)
    return host !== undefined && port >= leastPort && port <= 65535 ? ok({ host, port }) : mistake('use host:port')
  }

/** To listen at: port 0 takes a free one, and the host has no brackets. */
const listenAddress = (value: string): Parsed<{ host: string; port: number }> => {
  const parsed = hostAndPort(0)(value)
  return 'value' in parsed ? ok({ ...parsed.value, host: parsed.value.host.replace(/^\[|\]$/g, '') }) : parsed
}

const regularExpression = (value: string): Parsed<RegExp> => {
  try {
    return ok(new RegExp(value, 'u'))
  } catch {
    return mistake('use a regular expression, such as ^live/')
  }
}

const ipAddress = (value: string): Parsed<string> => {
  const isAddress = value.includes(':')
    ? URL.canParse(`http://[${value}]`)
    : /^\d{1,3}(?:\.\d{1,3}){3}$/.test(value) && value.split('.').every((part) => Number(part) <= 255)
  return isAddress ? ok(value) : mistake('use an IP address of this machine, or 0.0.0.0 for all')
}

/** The host ends up in a Content-Security-Policy, so it has the characters of a host name only. */
const TILES = /^https?:\/\/(?:\{s\}\.)?[A-Za-z0-9.-]+(?::\d{1,5})?\/[^\s"'<>;,]*$/

const tileTemplate = (value: string): Parsed<string> =>
  TILES.test(value) && ['{z}', '{x}', '{y}'].every((part) => value.includes(part))
    ? ok(value)
    : mistake('use a template with {z}, {x} and {y}, such as https://tiles.example.org/{z}/{x}/{y}.png')

const originList = (value: string): Parsed<readonly string[]> => {
  const origins = value.split(',').map((origin) => origin.trim())
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin)
  return wrong === undefined ? ok(origins) : mistake('use origins such as https://console.example.org, separated by commas')
}

const flagOrFolder = (value: string): Parsed<boolean | string> => {
  if (value.startsWith('/')) return ok(value === '/' ? true : value.replace(/\/+$/, ''))
  return value === '1' || value === '0' ? ok(value === '1') : mistake('use 0, 1 or the absolute path of a folder')
}

const oneOf =
  <const T extends string>(values: readonly T[]) =>
  (value: string): Parsed<T> => {
    const found = values.find((candidate) => candidate === value)
    return found === undefined ? mistake(`use one of: ${values.join(', ')}`) : ok(found)
  }

const hostList = (value: string): Parsed<readonly string[]> => {
  const names = value.split(',').map((name) => name.trim().toLowerCase())
  return names.every((name) => name === '*' || /^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/.test(name))
    ? ok(names)
    : mistake('use host names such as video.example.org without port, separated by commas, or *')
}

const optional = <T>(variable: Omit<Variable<T>, 'default' | 'shown'> & { readonly shown?: string }): Variable<T | undefined> => ({
  shown: 'none',
  ...variable,
  default: undefined,
})

const withDefault = <T>(variable: Omit<Variable<T>, 'shown' | 'default'> & { readonly default: string }): Variable<T> => ({
  ...variable,
  shown: variable.default,
})

/** Empty when nothing is given. */
const list = <T>(variable: Omit<Variable<readonly T[]>, 'default' | 'shown' | 'unset'>): Variable<readonly T[]> => ({
  ...variable,
  default: undefined,
  shown: 'none',
  unset: [],
})

const VARIABLES = {
  host: withDefault({ name: 'SVC_HOST', default: '127.0.0.1', about: 'address the API listens on', parse: text }),
  port: withDefault({ name: 'SVC_PORT', default: '8080', about: 'port the API listens on; 0 takes a free port', parse: portNumber }),
  dataDir: withDefault({
    name: 'SVC_DATA_DIR',
    default: './data',
    about: 'directory of database, API key and screenshots; created with mode 0700',
    parse: text,
  }),
  databaseUrl: optional({
    name: 'SVC_DATABASE_URL',
    shown: 'a file in the data directory',
    about: 'libSQL database: file:, libsql://, https:// or http://',
    parse: databaseUrl,
  }),
  databaseAuthToken: optional({ name: 'SVC_DATABASE_AUTH_TOKEN', about: 'token for a remote database', secret: true, parse: bearer }),
  apiKey: optional({
    name: 'SVC_API_KEY',
    shown: 'generated into <data dir>/api-key',
    about: 'API key for automation and triggers, at least 16 characters',
    secret: true,
    parse: (value) => (API_KEY.test(value) ? ok(value) : mistake('use 16 to 512 printable ASCII characters without blanks')),
  }),
  password: optional({
    name: 'SVC_PASSWORD',
    about: 'password of the API, set at start if none is stored; at least 8 characters',
    secret: true,
    parse: (value) =>
      value.length >= 8 && value.length <= 1024 && !/[\r\n]/.test(value)
        ? ok(value)
        : mistake('use 8 to 1024 characters without line breaks'),
  }),
  requirePassword: withDefault({
    name: 'SVC_REQUIRE_PASSWORD',
    default: '0',
    about: '1 refuses to start without a password when SVC_HOST is not loopback; set in the image',
    parse: flag,
  }),
  engineUrl: optional({
    name: 'SVC_ENGINE_URL',
    shown: 'own sidecar',
    about: 'engine on another host, such as http://10.0.0.7:9100',
    parse: url(['http:', 'https:']),
  }),
  engineToken: optional({ name: 'SVC_ENGINE_TOKEN', about: 'bearer secret between API and engine', secret: true, parse: bearer }),
  engineListen: optional({
    name: 'SVC_ENGINE_LISTEN',
    shown: 'a free port of 127.0.0.1',
    about: 'host:port of a stand-alone engine; requires SVC_ENGINE_TOKEN',
    parse: listenAddress,
  }),
  mediaServer: withDefault({
    name: 'SVC_MEDIA_SERVER',
    default: '127.0.0.1:8554',
    about: 'host:port of the media server that calls the triggers, or is watched',
    parse: hostAndPort(1),
  }),
  mediaServerApi: optional({
    name: 'SVC_MEDIA_SERVER_API',
    about: 'API of a MediaMTX to watch, such as http://127.0.0.1:9997; credentials allowed',
    secret: true,
    parse: url(['http:', 'https:']),
  }),
  mediaServerPaths: withDefault({
    name: 'SVC_MEDIA_SERVER_PATHS',
    default: '^(?!out/)',
    about: 'regular expression of the watched paths that count',
    parse: regularExpression,
  }),
  outputPorts: withDefault({
    name: 'SVC_OUTPUT_PORTS',
    default: '50000-55000',
    about: 'ports of RTSP outputs without a uri; a single port (8554) is shared by all',
    parse: (value): Parsed<PortRange> => {
      const range = parsePortRange(value)
      return range === undefined ? mistake('use first-last or one port within 1024-65535, such as 50000-55000 or 8554') : ok(range)
    },
  }),
  outputHost: withDefault({
    name: 'SVC_OUTPUT_HOST',
    default: '0.0.0.0',
    about: 'address that outputs listen on when their uri names none',
    parse: ipAddress,
  }),
  outputTlsCert: optional({
    name: 'SVC_OUTPUT_TLS_CERT',
    about: 'PEM file with the certificate chain of the outputs, which then speak rtsps too',
    parse: text,
  }),
  outputTlsKey: optional({ name: 'SVC_OUTPUT_TLS_KEY', about: 'PEM file with the private key of that certificate', parse: text }),
  outputTls: withDefault({
    name: 'SVC_OUTPUT_TLS',
    default: 'optional',
    about: 'with a certificate, optional: rtsp and rtsps; required: rtsps only',
    parse: (value): Parsed<'optional' | 'required'> =>
      value === 'optional' || value === 'required' ? ok(value) : mistake('use optional or required'),
  }),
  licenseFile: optional({
    name: 'SVC_LICENSE_FILE',
    about: 'license file (JSON); without one, codecs and streams are not limited',
    parse: text,
  }),
  pipelinesFile: optional({
    name: 'SVC_PIPELINES',
    about: 'file with pipelines and settings (YAML or JSON), applied at start',
    parse: text,
  }),
  profile: optional({
    name: 'SVC_PROFILE',
    about: 'docs: also serve the API explorer',
    parse: (value): Parsed<'docs'> => (value === 'docs' ? ok(value) : mistake('use docs or unset it')),
  }),
  docsPort: withDefault({ name: 'SVC_DOCS_PORT', default: '8081', about: 'port of the API explorer', parse: portNumber }),
  dashboard: withDefault({
    name: 'SVC_DASHBOARD',
    default: '1',
    about: '0 turns off the dashboard at /svc/dashboard/ and the redirect from /',
    parse: flag,
  }),
  mapTiles: optional({
    name: 'SVC_MAP_TILES',
    about: 'tiles for the map, such as https://tiles.example.org/{z}/{x}/{y}.png; fetched by browsers',
    parse: tileTemplate,
  }),
  allowFileSources: withDefault({
    name: 'SVC_ALLOW_FILE_SOURCES',
    default: '0',
    about: '1 allows file:// sources; a folder allows those inside it',
    parse: flagOrFolder,
  }),
  sandbox: withDefault({
    name: 'SVC_SANDBOX',
    default: 'auto',
    about: 'confinement of GStreamer processes: auto, required or off',
    parse: oneOf(SANDBOX_MODES),
  }),
  rtspReader: withDefault({
    name: 'SVC_RTSP_READER',
    default: 'engine',
    about: 'who reads RTSP sources without encoding: engine, or child for a GStreamer process each',
    parse: oneOf(RTSP_READERS),
  }),
  trustProxy: withDefault({
    name: 'SVC_TRUST_PROXY',
    default: '0',
    about: '1 trusts X-Forwarded-For, -Proto and -Host (behind a proxy)',
    parse: flag,
  }),
  clientAddressHeader: optional({
    name: 'SVC_CLIENT_ADDRESS_HEADER',
    about: 'of a worker: header in which its platform writes the client address',
    parse: (value) =>
      /^[A-Za-z0-9-]{1,64}$/.test(value) ? ok(value.toLowerCase()) : mistake('use the name of a header field, such as cf-connecting-ip'),
  }),
  corsOrigins: list({
    name: 'SVC_CORS_ORIGINS',
    about: 'origins that may call the API from a browser, separated by commas',
    parse: originList,
  }),
  allowedHosts: list({
    name: 'SVC_ALLOWED_HOSTS',
    about: 'host names at which an open API answers, separated by commas; * allows any',
    parse: hostList,
  }),
  logLevel: withDefault({ name: 'SVC_LOG_LEVEL', default: 'info', about: `one of ${LOG_LEVELS.join(', ')}`, parse: oneOf(LOG_LEVELS) }),
} satisfies { readonly [K in keyof Configuration]: Variable<Configuration[K]> }

/** Every variable for `--help` and the README. */
export const CONFIGURATION_VARIABLES: readonly Pick<Variable<unknown>, 'name' | 'shown' | 'about'>[] = Object.values(VARIABLES)

type Environment = Readonly<Record<string, string | undefined>>

/** Of the command, of workers and of the set-up of a clone. */
const OTHER_VARIABLES = ['SVC_URL', 'SVC_LICENSE', 'SVC_NO_INSTALL']
/** Kubernetes sets these for each Service whose name begins with svc. */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT\w*)$|_PORT(?:_\d+_\w+)?$/

/** Variables that look like ours and mean nothing, such as those with a spelling mistake. */
export const unknownVariables = (environment: Environment): readonly string[] => {
  const known = new Set([...CONFIGURATION_VARIABLES.map(({ name }) => name), ...OTHER_VARIABLES])
  return Object.keys(environment).filter((name) => name.startsWith('SVC_') && !known.has(name) && !OF_KUBERNETES.test(name))
}

/** Reads the environment: the configuration, or one line per mistake. Never quotes the value of a secret. */
export const readConfiguration = (environment: Environment): Configuration | { readonly mistakes: readonly string[] } => {
  const mistakes: string[] = []
  const values: Record<string, unknown> = {}
  for (const [field, variable] of Object.entries(VARIABLES) as [string, Variable<unknown>][]) {
    const given = environment[variable.name]
    const value = given === undefined || given === '' ? variable.default : given
    if (value === undefined) {
      values[field] = variable.unset
      continue
    }
    const parsed = variable.parse(value)
    if ('value' in parsed) values[field] = parsed.value
    else mistakes.push(`${variable.name}${variable.secret ? '' : `=${redact(value)}`}: ${parsed.mistake}`)
  }
  // Checked even when the URL is a mistake, so that one run lists all mistakes.
  if (environment.SVC_ENGINE_URL && !environment.SVC_ENGINE_TOKEN) {
    mistakes.push('SVC_ENGINE_TOKEN: set the bearer secret of the engine at SVC_ENGINE_URL')
  }
  if (values.engineListen !== undefined && (environment.SVC_ENGINE_TOKEN ?? '').length < 16) {
    mistakes.push('SVC_ENGINE_TOKEN: set a secret of at least 16 characters for the engine at SVC_ENGINE_LISTEN')
  }
  if ((values.outputTlsCert === undefined) !== (values.outputTlsKey === undefined)) {
    const missing = values.outputTlsCert === undefined ? 'SVC_OUTPUT_TLS_CERT' : 'SVC_OUTPUT_TLS_KEY'
    mistakes.push(`${missing}: set it too; a certificate and its key belong together`)
  }
  if (values.outputTls === 'required' && values.outputTlsCert === undefined && values.outputTlsKey === undefined) {
    mistakes.push('SVC_OUTPUT_TLS=required: set SVC_OUTPUT_TLS_CERT and SVC_OUTPUT_TLS_KEY')
  }
  if (values.profile === 'docs' && values.port === values.docsPort && values.port !== 0) {
    mistakes.push(`SVC_DOCS_PORT=${values.docsPort}: use another port than SVC_PORT`)
  }
  return mistakes.length > 0 ? { mistakes } : (values as unknown as Configuration)
}
