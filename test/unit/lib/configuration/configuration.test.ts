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
      licenseFile: undefined,
      profile: undefined,
      docsPort: 8081,
      dashboard: true,
      mapTiles: undefined,
      allowFileSources: false,
      sandbox: 'auto',
      rtspReader: 'engine',
      trustProxy: false,
      clientAddressHeader: undefined,
      corsOrigins: [],
      allowedHosts: [],
      logLevel: 'info',
    })
  })

  it('reads host names in any case, and * for all', () => {
    expect(readConfiguration({ SVC_ALLOWED_HOSTS: 'Video.Example.org, station' })).toMatchObject({
      allowedHosts: ['video.example.org', 'station'],
    })
    expect(readConfiguration({ SVC_ALLOWED_HOSTS: '*' })).toMatchObject({ allowedHosts: ['*'] })
  })

  it('treats an empty variable as not set', () => {
    expect(readConfiguration({ SVC_PORT: '', SVC_API_KEY: '' })).toMatchObject({ port: 8080, apiKey: undefined })
  })

  it.each([
    ['SVC_PORT', '99999', 'port number'],
    ['SVC_PORT', '80a', 'port number'],
    ['SVC_OUTPUT_PORTS', '5000-', 'first-last'],
    ['SVC_OUTPUT_PORTS', '554', 'first-last'],
    ['SVC_OUTPUT_HOST', 'localhost', 'IP address'],
    ['SVC_OUTPUT_HOST', '10.0.0.256', 'IP address'],
    ['SVC_OUTPUT_HOST', '::1::', 'IP address'],
    ['SVC_OUTPUT_TLS', 'yes', 'required'],
    ['SVC_OUTPUT_PORTS', '600-700', 'first-last'],
    ['SVC_OUTPUT_PORTS', '6000-5000', 'first-last'],
    ['SVC_ALLOW_FILE_SOURCES', 'yes', '0, 1 or the absolute path'],
    ['SVC_SANDBOX', 'on', 'auto, required, off'],
    ['SVC_RTSP_READER', 'none', 'engine, child'],
    ['SVC_CLIENT_ADDRESS_HEADER', 'cf connecting', 'name of a header field'],
    ['SVC_LOG_LEVEL', 'loud', 'debug, info, warn, error'],
    ['SVC_MEDIA_SERVER', 'nowhere', 'host:port'],
    ['SVC_MEDIA_SERVER_PATHS', '^(live', 'regular expression'],
    ['SVC_DATABASE_URL', 'mysql://x', 'libsql:'],
    ['SVC_DATABASE_URL', 'wss://db.example', 'libsql:'],
    ['SVC_PROFILE', 'dev', 'docs'],
    ['SVC_CORS_ORIGINS', 'https://a.example/path', 'origins'],
    ['SVC_ALLOWED_HOSTS', 'http://a.example', 'without port'],
    ['SVC_ALLOWED_HOSTS', 'a.example:8080', 'without port'],
    ['SVC_ALLOWED_HOSTS', 'a.example,,b.example', 'host names'],
  ])('refuses %s=%s with a line that says what to use', (name, value, hint) => {
    const read = readConfiguration({ [name]: value })
    expect(read).toEqual({ mistakes: [expect.stringContaining(`${name}=${value}: use`)] })
    expect('mistakes' in read && read.mistakes[0]).toContain(hint)
  })

  it('lists every mistake at once', () => {
    const read = readConfiguration({ SVC_PORT: 'x', SVC_DOCS_PORT: 'y', SVC_LOG_LEVEL: 'z' })
    expect('mistakes' in read && read.mistakes).toHaveLength(3)
  })

  it('takes one port for all outputs', () => {
    expect(readConfiguration({ SVC_OUTPUT_PORTS: '8554' })).toMatchObject({ outputPorts: { first: 8554, last: 8554, shared: true } })
    expect(readConfiguration({ SVC_OUTPUT_PORTS: '8554-8554' })).toMatchObject({ outputPorts: { first: 8554, last: 8554 } })
  })

  it.each(['127.0.0.1', '10.0.0.2', '::', '::1', 'fe80::1'])('takes %s as the address of outputs', (host) => {
    expect(readConfiguration({ SVC_OUTPUT_HOST: host })).toMatchObject({ outputHost: host })
  })

  it.each([
    [{ SVC_OUTPUT_TLS_CERT: '/cert.pem' }, 'SVC_OUTPUT_TLS_KEY: set it too'],
    [{ SVC_OUTPUT_TLS_KEY: '/key.pem' }, 'SVC_OUTPUT_TLS_CERT: set it too'],
    [{ SVC_OUTPUT_TLS: 'required' }, 'SVC_OUTPUT_TLS=required: set SVC_OUTPUT_TLS_CERT and SVC_OUTPUT_TLS_KEY'],
  ])('refuses %j, which would not encrypt', (environment, mistake) => {
    expect(readConfiguration(environment)).toEqual({ mistakes: [expect.stringContaining(mistake)] })
  })

  it('quotes no secret', () => {
    const read = readConfiguration({
      SVC_API_KEY: 'short',
      SVC_PASSWORD: 'brief',
      SVC_DATABASE_URL: 'mysql://me:hidden@db',
      SVC_MEDIA_SERVER_API: 'ftp://me:concealed@media',
    })
    const text = JSON.stringify(read)
    expect(text).toContain('SVC_API_KEY: use 16 to 512')
    expect(text).toContain('SVC_PASSWORD: use 8 to 1024')
    expect(text).not.toContain('short')
    expect(text).not.toContain('brief')
    expect(text).not.toContain('hidden')
    expect(text).toContain('SVC_MEDIA_SERVER_API: use a URL')
    expect(text).not.toContain('concealed')
  })

  it.each([
    [{ SVC_DATABASE_URL: 'file:' }, 'SVC_DATABASE_URL=file:: name a file'],
    [{ SVC_DATABASE_URL: 'file::memory:' }, 'SVC_DATABASE_URL=file::memory:: name a file'],
    [{ SVC_PASSWORD: 'from-a-file\n' }, 'SVC_PASSWORD: use 8 to 1024 characters without line breaks'],
    [{ SVC_ENGINE_TOKEN: 'from-a-file-with-its-end\n' }, 'SVC_ENGINE_TOKEN: use printable ASCII characters'],
    [{ SVC_DATABASE_AUTH_TOKEN: 'token ' }, 'SVC_DATABASE_AUTH_TOKEN: use printable ASCII characters'],
  ])('refuses %j, which would lose data or fail later', (environment, mistake) => {
    expect(readConfiguration(environment)).toEqual({ mistakes: [expect.stringContaining(mistake)] })
  })

  it.each([
    { SVC_DATABASE_URL: 'file:service.db' },
    { SVC_DATABASE_URL: 'file:///var/lib/service.db' },
    { SVC_ENGINE_TOKEN: 'words with blanks between' },
    { SVC_PASSWORD: ' correct horse ' },
  ])('takes %j', (environment) => {
    expect(readConfiguration(environment)).not.toHaveProperty('mistakes')
  })

  it('requires the secret of an engine on another host', () => {
    expect(readConfiguration({ SVC_ENGINE_URL: 'http://10.0.0.7:9100' })).toEqual({
      mistakes: [expect.stringContaining('SVC_ENGINE_TOKEN')],
    })
  })

  it('finds variables that mean nothing, and takes none of Kubernetes for one', () => {
    const environment = {
      SVC_PASWORD: 'x',
      SVC_PORT: '1',
      SVC_URL: 'x',
      SVC_NO_INSTALL: '1',
      SVC_SERVICE_HOST: 'x',
      SVC_API_PORT_8080_TCP: 'x',
      HOME: '/',
    }
    expect(unknownVariables(environment)).toEqual(['SVC_PASWORD'])
  })

  it('describes each variable once', () => {
    const names = CONFIGURATION_VARIABLES.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const { about } of CONFIGURATION_VARIABLES) expect(about).not.toBe('')
  })
})
