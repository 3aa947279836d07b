import { LOG_LEVELS } from './log.ts'
import type { LogLevel } from './ports.ts'
import { redact } from './redact.ts'

/** An inclusive range of TCP ports, as in `SVC_OUTPUT_PORTS=50000-55000`. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

/** Parses `first-last` (1024–65535, first not above last), undefined when it is not that. */
export const parsePortRange = (text: string): PortRange | undefined => {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text.trim())
  if (match === null) return undefined
  const range = { first: Number(match[1]), last: Number(match[2]) }
  return range.first >= 1024 && range.last <= 65535 && range.first <= range.last ? range : undefined
}

/** What the environment says; every field is checked. */
export interface Configuration {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly databaseAuthToken: string | undefined
  readonly apiKey: string | undefined
  readonly engineUrl: string | undefined
  readonly engineToken: string | undefined
  /** Where the sidecar listens; given: it runs by itself, whether an API process is there or not. */
  readonly engineListen: { readonly host: string; readonly port: number } | undefined
  readonly mediaServer: { readonly host: string; readonly port: number }
  readonly outputPorts: PortRange
  readonly licenseFile: string | undefined
  readonly profile: 'docs' | undefined
  readonly docsPort: number
  readonly allowFileSources: boolean
  readonly trustProxy: boolean
  readonly corsOrigins: readonly string[]
  readonly logLevel: LogLevel
}

type Parsed<T> = { readonly value: T } | { readonly mistake: string }

interface Variable<T> {
  readonly name: string
  /** What stands in its place when it is not set; undefined: none. */
  readonly default: string | undefined
  /** How `--help` and the README show the default. */
  readonly shown: string
  readonly about: string
  readonly secret?: true
  readonly parse: (text: string) => Parsed<T>
}

const ok = <T>(value: T): Parsed<T> => ({ value })
const mistake = <T>(text: string): Parsed<T> => ({ mistake: text })

const text = (value: string): Parsed<string> => ok(value)

const portNumber = (value: string): Parsed<number> =>
  /^\d{1,5}$/.test(value) && Number(value) <= 65535 ? ok(Number(value)) : mistake('use a port number of 0 to 65535')

const flag = (value: string): Parsed<boolean> =>
  value === '1' || value === 'true' ? ok(true) : value === '0' || value === 'false' ? ok(false) : mistake('use 0 or 1')

const url =
  (schemes: readonly string[]) =>
  (value: string): Parsed<string> =>
    URL.canParse(value) && schemes.includes(new URL(value).protocol)
      ? ok(value)
      : mistake(`use a URL that starts with ${schemes.join(', ')}`)

const hostAndPort = (value: string): Parsed<{ host: string; port: number }> => {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(value)
  const port = Number(match?.[2])
  return match?.[1] !== undefined && port >= 1 && port <= 65535 ? ok({ host: match[1], port }) : mistake('use host:port')
}

const listenAddress = (value: string): Parsed<{ host: string; port: number }> => {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(value)
  const port = Number(match?.[2])
  return match?.[1] !== undefined && port <= 65535 ? ok({ host: match[1].replace(/^\[|\]$/g, ''), port }) : mistake('use host:port')
}

const originList = (value: string): Parsed<readonly string[]> => {
  const origins = value.split(',').map((origin) => origin.trim())
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin)
  return wrong === undefined ? ok(origins) : mistake('use origins such as https://console.example.org, separated by commas')
}

const logLevel = (value: string): Parsed<LogLevel> => {
  const level = LOG_LEVELS.find((candidate) => candidate === value)
  return level === undefined ? mistake(`use one of: ${LOG_LEVELS.join(', ')}`) : ok(level)
}

const optional = <T>(variable: Omit<Variable<T>, 'default' | 'shown'> & { readonly shown?: string }): Variable<T | undefined> => ({
  shown: 'none',
  ...variable,
  default: undefined,
})

const withDefault = <T>(variable: Omit<Variable<T>, 'shown' | 'default'> & { readonly default: string }): Variable<T> => ({
  ...variable,
  shown: variable.default === '' ? 'none' : variable.default,
})

const VARIABLES = {
  host: withDefault({ name: 'SVC_HOST', default: '127.0.0.1', about: 'address the API listens on', parse: text }),
  port: withDefault({ name: 'SVC_PORT', default: '8080', about: 'port the API listens on; 0 takes a free one', parse: portNumber }),
  dataDir: withDefault({
    name: 'SVC_DATA_DIR',
    default: './data',
    about: 'database, API key, screenshots; created with mode 0700',
    parse: text,
  }),
  databaseUrl: optional({
    name: 'SVC_DATABASE_URL',
    shown: 'a file in the data directory',
    about: 'libSQL database: file:, libsql://, https:// or http://',
    parse: url(['file:', 'libsql:', 'https:', 'http:', 'wss:', 'ws:']),
  }),
  databaseAuthToken: optional({ name: 'SVC_DATABASE_AUTH_TOKEN', about: 'token of a remote database', secret: true, parse: text }),
  apiKey: optional({
    name: 'SVC_API_KEY',
    shown: 'generated into <data dir>/api-key',
    about: 'API key for automation and triggers, at least 16 characters',
    secret: true,
    parse: (value) => (/^[\x21-\x7e]{16,512}$/.test(value) ? ok(value) : mistake('use 16 to 512 printable characters without blanks')),
  }),
  engineUrl: optional({
    name: 'SVC_ENGINE_URL',
    shown: 'own sidecar',
    about: 'a sidecar that runs elsewhere, such as http://10.0.0.7:9100',
    parse: url(['http:', 'https:']),
  }),
  engineToken: optional({ name: 'SVC_ENGINE_TOKEN', about: 'bearer secret between API and engine', secret: true, parse: text }),
  engineListen: optional({
    name: 'SVC_ENGINE_LISTEN',
    shown: 'a free port of 127.0.0.1',
    about: 'host:port of an engine that runs by itself; needs SVC_ENGINE_TOKEN',
    parse: listenAddress,
  }),
  mediaServer: withDefault({
    name: 'SVC_MEDIA_SERVER',
    default: '127.0.0.1:8554',
    about: 'host:port of the media server that calls the triggers',
    parse: hostAndPort,
  }),
  outputPorts: withDefault({
    name: 'SVC_OUTPUT_PORTS',
    default: '50000-55000',
    about: 'ports given to outputs that ask for none',
    parse: (value): Parsed<PortRange> => {
      const range = parsePortRange(value)
      return range === undefined ? mistake('use first-last within 1024-65535, such as 50000-55000') : ok(range)
    },
  }),
  licenseFile: optional({
    name: 'SVC_LICENSE_FILE',
    about: 'license file (JSON); without one every codec is allowed, without a limit',
    parse: text,
  }),
  profile: optional({
    name: 'SVC_PROFILE',
    about: 'docs: serve the API explorer at its own address',
    parse: (value): Parsed<'docs'> => (value === 'docs' ? ok(value) : mistake('use docs, or leave it out')),
  }),
  docsPort: withDefault({ name: 'SVC_DOCS_PORT', default: '8081', about: 'port of the API explorer', parse: portNumber }),
  allowFileSources: withDefault({ name: 'SVC_ALLOW_FILE_SOURCES', default: '0', about: '1 allows file:// sources', parse: flag }),
  trustProxy: withDefault({ name: 'SVC_TRUST_PROXY', default: '0', about: '1 takes the client address from X-Forwarded-For', parse: flag }),
  corsOrigins: withDefault({
    name: 'SVC_CORS_ORIGINS',
    default: '',
    about: 'origins that may call the API from a browser',
    parse: originList,
  }),
  logLevel: withDefault({ name: 'SVC_LOG_LEVEL', default: 'info', about: `one of ${LOG_LEVELS.join(', ')}`, parse: logLevel }),
} satisfies { readonly [K in keyof Configuration]: Variable<Configuration[K]> }

/** Every variable as `--help` and the README list it. */
export const CONFIGURATION_VARIABLES: readonly Pick<Variable<unknown>, 'name' | 'shown' | 'about'>[] = Object.values(VARIABLES)

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the environment: the whole configuration, or one clear line per mistake. A secret's value is never quoted. */
export const readConfiguration = (environment: Environment): Configuration | { readonly mistakes: readonly string[] } => {
  const mistakes: string[] = []
  const values: Record<string, unknown> = {}
  for (const [field, variable] of Object.entries(VARIABLES) as [string, Variable<unknown>][]) {
    const given = environment[variable.name]
    const value = given === undefined || given === '' ? variable.default : given
    if (value === undefined || value === '') {
      values[field] = field === 'corsOrigins' ? [] : undefined
      continue
    }
    const parsed = variable.parse(value)
    if ('value' in parsed) values[field] = parsed.value
    else mistakes.push(`${variable.name}${variable.secret ? '' : `=${redact(value)}`}: ${parsed.mistake}`)
  }
  // Also when the URL itself is a mistake: whoever mends that would meet this one next.
  if (environment.SVC_ENGINE_URL && !environment.SVC_ENGINE_TOKEN) {
    mistakes.push('SVC_ENGINE_TOKEN: give the bearer secret of the engine at SVC_ENGINE_URL')
  }
  if (values.engineListen !== undefined && (environment.SVC_ENGINE_TOKEN ?? '').length < 16) {
    mistakes.push('SVC_ENGINE_TOKEN: give the engine that listens at SVC_ENGINE_LISTEN a secret of at least 16 characters')
  }
  if (values.profile === 'docs' && values.port === values.docsPort && values.port !== 0) {
    mistakes.push(`SVC_DOCS_PORT=${values.docsPort}: use another port than SVC_PORT`)
  }
  return mistakes.length > 0 ? { mistakes } : (values as unknown as Configuration)
}
