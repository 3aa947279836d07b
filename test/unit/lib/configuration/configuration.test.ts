import { describe, expect, it } from 'vitest'
import { CONFIGURATION_VARIABLES, readConfiguration, unknownVariables } from '../../../../lib/configuration/configuration.ts'

describe('the configuration', () => {
  it('has a default for everything', () => {
    expect(readConfiguration({})).toEqual({
      host: '127.0.0.1',
      port: 8080,
      dataDir: './data',
      databaseUrl: undefined,
      databaseAuthToken: undefined,
      apiKey: undefined,
      password: undefined,
      requirePassword: false,
      engineUrl: undefined,
      engineToken: undefined,
      engineListen: undefined,
      mediaServer: { host: '127.0.0.1', port: 8554 },
      mediaServerApi: undefined,
      mediaServerPaths: /^(?!out\/)/u,
      outputPorts: { first: 50000, last: 55000 },
      outputHost: '0.0.0.0',
      outputTlsCert: undefined,
      outputTlsKey: undefined,
      outputTls: 'optional',
      webRtcPort: 8189,
      webRtcHosts: [],
      licenseFile: undefined,
      profile: undefined,
      docsPort: 8081,
      dashboard: true,
      mapTiles: undefined,
      allowFileSources: false,
      sandbox: 'auto',
      trustProxy: false,
      clientAddressHeader: undefined,
      corsOrigins: [],
      allowedHosts: [],
      hostLabels: {},
      fleetControl: false,
      logLevel: 'info',
    })
  })

  it.each<readonly [Readonly<Record<string, string>>, object]>([
    [
      { SVC_PORT: '', SVC_API_KEY: '' },
      { port: 8080, apiKey: undefined },
    ],
    [{ SVC_ALLOWED_HOSTS: 'Video.Example.org, station' }, { allowedHosts: ['video.example.org', 'station'] }],
    [{ SVC_ALLOWED_HOSTS: '*' }, { allowedHosts: ['*'] }],
    [{ SVC_OUTPUT_PORTS: '8554' }, { outputPorts: { first: 8554, last: 8554, shared: true } }],
    [{ SVC_OUTPUT_PORTS: '8554-8554' }, { outputPorts: { first: 8554, last: 8554 } }],
    ...['127.0.0.1', '10.0.0.2', '::', '::1', 'fe80::1'].map((host) => [{ SVC_OUTPUT_HOST: host }, { outputHost: host }] as const),
    [{ SVC_ENGINE_TOKEN: 'x'.repeat(16), SVC_ENGINE_LISTEN: '[::1]:0' }, { engineListen: { host: '::1', port: 0 } }],
    [{ SVC_ALLOW_FILE_SOURCES: '/media//' }, { allowFileSources: '/media' }],
    [{ SVC_ALLOW_FILE_SOURCES: '/' }, { allowFileSources: true }],
    [{ SVC_DATABASE_URL: 'file:service.db' }, { databaseUrl: 'file:service.db' }],
    [{ SVC_ENGINE_TOKEN: 'words with blanks between' }, { engineToken: 'words with blanks between' }],
    [{ SVC_PASSWORD: ' correct horse ' }, { password: ' correct horse ' }],
    [
      { SVC_NATS_URL: 'tls://gate:p%40ss@n1.example.org,nats://[::1]:4223' },
      { nats: { servers: ['n1.example.org:4222', '[::1]:4223'], tls: true, user: 'gate', password: 'p@ss' } },
    ],
    [{ SVC_NATS_URL: 'nats://t%2Fken@10.0.0.9' }, { nats: { servers: ['10.0.0.9:4222'], tls: false, token: 't/ken' } }],
    [
      { SVC_HOST_NAME: 'gate.north_1', SVC_HOST_LABELS: 'site=north, kind=gate-1.2' },
      { hostName: 'gate-north_1', hostLabels: { site: 'north', kind: 'gate-1.2' } },
    ],
    [{ SVC_CLIENT_ADDRESS_HEADER: 'CF-Connecting-IP' }, { clientAddressHeader: 'cf-connecting-ip' }],
  ])('reads %j as %j', (environment, fields) => {
    expect(readConfiguration(environment)).toMatchObject(fields)
  })

  it.each([
    ['SVC_PORT', '99999', 'port number'],
    ['SVC_PORT', '80a', 'port number'],
    ['SVC_OUTPUT_PORTS', '554', 'first-last'],
    ['SVC_OUTPUT_HOST', 'localhost', 'IP address'],
    ['SVC_OUTPUT_HOST', '::1::', 'IP address'],
    ['SVC_OUTPUT_TLS', 'yes', 'required'],
    ['SVC_OUTPUT_PORTS', '600-700', 'first-last'],
    ['SVC_OUTPUT_PORTS', '6000-5000', 'first-last'],
    ['SVC_ALLOW_FILE_SOURCES', 'yes', '0, 1 or the absolute path'],
    ['SVC_SANDBOX', 'on', 'auto, required, off'],
    ['SVC_CLIENT_ADDRESS_HEADER', 'cf connecting', 'name of a header field'],
    ['SVC_LOG_LEVEL', 'loud', 'debug, info, warn, error'],
    ['SVC_MEDIA_SERVER', 'nowhere', 'host:port'],
    ['SVC_MEDIA_SERVER_PATHS', '^(live', 'regular expression'],
    ['SVC_DATABASE_URL', 'mysql://x', 'libsql:'],
    ['SVC_PROFILE', 'dev', 'docs'],
    ['SVC_CORS_ORIGINS', 'https://a.example/path', 'origins'],
    ['SVC_ALLOWED_HOSTS', 'http://a.example', 'without port'],
    ['SVC_ALLOWED_HOSTS', 'a.example:8080', 'without port'],
    ['SVC_ALLOWED_HOSTS', 'a.example,,b.example', 'host names'],
    ['SVC_HOST_NAME', 'gate north', 'letters, digits'],
    ['SVC_HOST_NAME', 'gate*', 'letters, digits'],
    ['SVC_HOST_LABELS', 'site', 'name=value'],
    ['SVC_HOST_LABELS', 'site=north,site=south', 'each name once'],
  ])('refuses %s=%s with a line that says what to use', (name, value, hint) => {
    const { mistakes } = readConfiguration({ [name]: value }) as { mistakes: readonly string[] }
    expect([mistakes, mistakes[0]]).toEqual([[expect.stringContaining(`${name}=${value}: use`)], expect.stringContaining(hint)])
  })

  it('lists every mistake at once, and quotes no secret', () => {
    const read = readConfiguration({
      SVC_API_KEY: 'short',
      SVC_PASSWORD: 'brief',
      SVC_DATABASE_URL: 'mysql://me:hid@/den@db',
      SVC_MEDIA_SERVER_API: 'ftp://me:concealed@media',
    })
    const text = JSON.stringify(read)
    expect(text).not.toMatch(/short|brief|hid|den|concealed/)
    for (const rule of ['API_KEY: use 16 to 512', 'PASSWORD: use 8 to 1024', 'MEDIA_SERVER_API: use a URL'])
      expect(text).toContain(`SVC_${rule}`)
  })

  it.each<readonly [Readonly<Record<string, string>>, string]>([
    [{ SVC_PASWORD: 'x' }, 'SVC_PASWORD: there is no such variable; did you mean SVC_PASSWORD?'],
    [{ SVC_DATABASE_URL: 'file:' }, 'SVC_DATABASE_URL=file:: name a file'],
    [{ SVC_DATABASE_URL: 'file::memory:' }, 'SVC_DATABASE_URL=file::memory:: name a file'],
    [{ SVC_PASSWORD: 'from-a-file\n' }, 'SVC_PASSWORD: use 8 to 1024 characters without line breaks'],
    [{ SVC_ENGINE_TOKEN: 'from-a-file-with-its-end\n' }, 'SVC_ENGINE_TOKEN: use printable ASCII characters'],
    [{ SVC_DATABASE_AUTH_TOKEN: 'token ' }, 'SVC_DATABASE_AUTH_TOKEN: use printable ASCII characters'],
    [{ SVC_ENGINE_URL: 'http://10.0.0.7:9100' }, 'SVC_ENGINE_TOKEN: set the bearer secret'],
    [{ SVC_ENGINE_LISTEN: '0.0.0.0:9100', SVC_ENGINE_TOKEN: 'too short' }, 'SVC_ENGINE_TOKEN: set a secret of at least 16 characters'],
    [{ SVC_OUTPUT_TLS_CERT: '/cert.pem' }, 'SVC_OUTPUT_TLS_KEY: set it too'],
    [{ SVC_OUTPUT_TLS_KEY: '/key.pem' }, 'SVC_OUTPUT_TLS_CERT: set it too'],
    [{ SVC_OUTPUT_TLS: 'required' }, 'SVC_OUTPUT_TLS=required: set SVC_OUTPUT_TLS_CERT and SVC_OUTPUT_TLS_KEY'],
    ...[
      'http://nats.example.org',
      'nats://gate:p/ss@nats.example.org',
      'nats://',
      'nats://gate:%@host',
      'nats://a,b',
      'nats://:x@host',
    ].map((address) => [{ SVC_NATS_URL: address }, 'SVC_NATS_URL: use an address such as'] as const),
    [{ SVC_NATS_CREDENTIALS: '/host.creds' }, 'SVC_NATS_URL: set the address'],
    [{ SVC_PROFILE: 'docs', SVC_DOCS_PORT: '8080' }, 'SVC_DOCS_PORT=8080: use another port than SVC_PORT'],
  ])('refuses %j, which would not work or not protect', (environment, mistake) => {
    expect(readConfiguration(environment)).toEqual({ mistakes: [expect.stringContaining(mistake)] })
  })

  it('finds variables that mean nothing, and takes none of Kubernetes for one', () => {
    const known = ['SVC_PORT', 'SVC_URL', 'SVC_NO_INSTALL', 'SVC_SERVICE_HOST', 'SVC_API_PORT_8080_TCP', 'HOME']
    expect(unknownVariables(Object.fromEntries(['SVC_COLOUR', ...known].map((name) => [name, 'x'])))).toEqual(['SVC_COLOUR'])
  })

  it('describes each variable once', () => {
    const names = CONFIGURATION_VARIABLES.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const { about } of CONFIGURATION_VARIABLES) expect(about).not.toBe('')
  })
})
