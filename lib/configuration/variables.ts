import { LOG_LEVELS } from '../log/log.ts'
import { fleetHostName, fleetLabels, type Labels, natsServers } from './fleet.ts'
import {
  addressList,
  apiKey,
  bearer,
  databaseUrl,
  fileOrAddress,
  flag,
  flagOrFolder,
  headerName,
  hostAndPort,
  hostList,
  ipAddress,
  listenAddress,
  newPassword,
  oneOf,
  originList,
  type Parsed,
  portNumber,
  portRange,
  regularExpression,
  text,
  tileTemplate,
  url,
} from './parsers.ts'

export interface Variable<T> {
  readonly name: string
  /** Parsed when the variable is not set; undefined: the value is `unset`. */
  readonly default: string | undefined
  readonly unset?: T
  /** The default as `--help` and docs/configuration.md show it. */
  readonly shown: string
  readonly about: string
  readonly secret?: true
  readonly parse: (text: string) => Parsed<T>
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

/** An empty list when the variable is not set. */
const list = <T>(variable: Omit<Variable<readonly T[]>, 'default' | 'shown' | 'unset'>): Variable<readonly T[]> => ({
  ...variable,
  default: undefined,
  shown: 'none',
  unset: [],
})

const SANDBOX_MODES = ['auto', 'required', 'off'] as const
/** auto: a sandbox where the host allows one; required: nothing runs without it. */
export type SandboxMode = (typeof SANDBOX_MODES)[number]

/** Every variable of the service, by the name of its field in the configuration. */
export const VARIABLES = {
  host: withDefault({ name: 'SVC_HOST', default: '127.0.0.1', about: 'address the API listens on', parse: text }),
  port: withDefault({ name: 'SVC_PORT', default: '8080', about: 'port the API listens on; 0 takes a free port', parse: portNumber }),
  dataDir: withDefault({
    name: 'SVC_DATA_DIR',
    default: './data',
    about: 'directory of database, API key and screenshots; created with mode 0700',
    parse: text,
  }),
  recordingsDir: optional({
    name: 'SVC_RECORDINGS_DIR',
    shown: 'recordings in the data directory',
    about: 'directory of the recordings; created with mode 0700',
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
    parse: apiKey,
  }),
  password: optional({
    name: 'SVC_PASSWORD',
    about: 'password of the API, set at start if none is stored; at least 8 characters',
    secret: true,
    parse: newPassword,
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
    parse: portRange,
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
    parse: oneOf(['optional', 'required'], 'use optional or required'),
  }),
  webRtcPort: withDefault({
    name: 'SVC_WEBRTC_PORT',
    default: '8189',
    about: 'UDP port of all sessions by WebRTC, opened with the first; 0 turns WebRTC off',
    parse: portNumber,
  }),
  webRtcHosts: list({
    name: 'SVC_WEBRTC_HOSTS',
    about: 'addresses or names of that port for browsers, by commas, in place of those of the host',
    parse: addressList,
  }),
  licenseFile: optional({
    name: 'SVC_LICENSE_FILE',
    about: 'license file (JSON); without one, codecs and streams are not limited',
    parse: text,
  }),
  pipelinesFile: optional({
    name: 'SVC_PIPELINES',
    about: 'file or http(s):// address with pipelines and settings (YAML or JSON), applied at start',
    parse: fileOrAddress,
  }),
  nats: optional({
    name: 'SVC_NATS_URL',
    about: 'NATS servers of a fleet to join, such as tls://user:password@nats.example.org:4222',
    secret: true,
    parse: natsServers,
  }),
  natsCredentials: optional({ name: 'SVC_NATS_CREDENTIALS', about: 'file (.creds) with JWT and seed for them', parse: text }),
  hostName: optional({
    name: 'SVC_HOST_NAME',
    shown: 'the name of the host',
    about: 'name in the fleet: letters, digits, dashes, underscores; dots become dashes',
    parse: fleetHostName,
  }),
  hostLabels: {
    name: 'SVC_HOST_LABELS',
    default: undefined,
    shown: 'none',
    unset: {},
    about: 'labels in the fleet, such as site=north,kind=gate',
    parse: fleetLabels,
  } satisfies Variable<Labels>,
  fleetControl: withDefault({
    name: 'SVC_FLEET_CONTROL',
    default: '0',
    about: '1 lets callers of this host change others of its fleet, not only read them',
    parse: flag,
  }),
  profile: optional({
    name: 'SVC_PROFILE',
    about: 'docs: also serve the API explorer',
    parse: oneOf(['docs'], 'use docs or unset it'),
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
  trustProxy: withDefault({
    name: 'SVC_TRUST_PROXY',
    default: '0',
    about: '1 trusts X-Forwarded-For, -Proto and -Host (behind a proxy)',
    parse: flag,
  }),
  /** In lower case. */
  clientAddressHeader: optional({
    name: 'SVC_CLIENT_ADDRESS_HEADER',
    about: 'of a worker: header in which its platform writes the client address',
    parse: headerName,
  }),
  corsOrigins: list({
    name: 'SVC_CORS_ORIGINS',
    about: 'origins that may call the API from a browser, separated by commas',
    parse: originList,
  }),
  /** In lower case. */
  allowedHosts: list({
    name: 'SVC_ALLOWED_HOSTS',
    about: 'host names at which an open API answers, separated by commas; * allows any',
    parse: hostList,
  }),
  logLevel: withDefault({ name: 'SVC_LOG_LEVEL', default: 'info', about: `one of ${LOG_LEVELS.join(', ')}`, parse: oneOf(LOG_LEVELS) }),
} satisfies Readonly<Record<string, Variable<unknown>>>
