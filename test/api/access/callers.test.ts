import { describe, expect, it } from 'vitest'
import { type AppDeps, apiRoutes, createApp, type HostPorts } from '../../../handlers/app.ts'
import { createOpenApiDocument } from '../../../lib/openapi/document.ts'
import { API_KEY, createTestApi, ORIGIN, openApi, simple, type TestApi, toRequest } from '../../helpers/api/api.ts'
import { fetchHost, nodeHost } from '../../helpers/api/hosts.ts'
import { login, passwordSet, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const EVIL = { origin: 'http://evil.test' }
const REBOUND = { host: 'rebound.test:8080' }
const KEY = { 'x-api-key': API_KEY }
const IDLE = simple('planted', { on_demand: true })
const LIST = 'GET /svc/pipeline'

const create = (headers: Record<string, string>) => ['POST /svc/pipeline', JSON.stringify(IDLE), headers] as const
const nothingStored = async (api: TestApi) => expect(await api.deps.pipelines.list()).toEqual([])

const crossOrigin = (name: string, headers: Record<string, string>) =>
  row(name, create(headers), 403, ['"code":"FORBIDDEN"', '"reason":"cross_origin"', 'SVC_CORS_ORIGINS'], { after: nothingStored })
const unknownHost = (name: string, line: string, headers: Record<string, string> = REBOUND, body?: unknown) =>
  row(name, [line, body, headers], 403, ['"code":"FORBIDDEN"', '"reason":"unknown_host"', 'SVC_ALLOWED_HOSTS'], { after: nothingStored })

describe('a page of another origin', () => {
  testRowsOnAllHosts([
    crossOrigin('may not send JSON', EVIL),
    crossOrigin('is foreign when only the fetch metadata says so', { 'sec-fetch-site': 'cross-site' }),
    row('may change something with the API key', create({ ...EVIL, ...KEY }), 201),
    row('is none: the page of the service itself', create({ 'sec-fetch-site': 'same-origin' }), 201),
  ])
  testRows([
    crossOrigin('may not create a pipeline with a body that needs no preflight', { ...EVIL, 'content-type': 'text/plain' }),
    crossOrigin('is foreign when its origin is null', { origin: 'null' }),
    crossOrigin('is foreign when its origin is no URL', { origin: 'about' }),
    crossOrigin('is foreign on another port of the same host', { origin: 'http://127.0.0.1:1' }),
    crossOrigin('is foreign with another scheme', { origin: ORIGIN.replace('http:', 'https:') }),
    crossOrigin('is foreign on another host of the same site', { 'sec-fetch-site': 'same-site' }),
    crossOrigin('is not admitted by a wrong key', { ...EVIL, 'x-api-key': 'nonsense' }),
    crossOrigin('is not admitted by a wrong token', { ...EVIL, authorization: `Bearer ${'A'.repeat(43)}` }),
    crossOrigin('is not admitted by header fields of a proxy that is not trusted', { ...EVIL, 'x-forwarded-host': 'evil.test' }),
    row('may not log in', ['POST /svc/auth/login', { password: 'x' }, EVIL], 403, { given: passwordSet(), lacks: ['token'] }),
    row('is refused before its body is read', ['POST /svc/pipeline', 'no JSON', EVIL], 403, 'cross_origin'),
    row('is refused at an unknown path too', ['POST /svc/nothing', '{}', EVIL], 403, 'cross_origin'),
    row('may read, and its browser keeps the answer from it', [LIST, undefined, EVIL], 200, {
      headers: { 'access-control-allow-origin': null },
    }),
    row('is none: what the user typed', create({ 'sec-fetch-site': 'none' }), 201),
    row('is none: a form of a program that names no origin', create({ 'content-type': 'application/x-www-form-urlencoded' }), 201),
  ])

  describe.each(['video', 'stream.ts', 'live.m3u8', 'live/1.ts', 'snapshot'])('of %s', (media) => {
    const get = (headers: object) => [`GET /svc/pipeline/gate/${media}`, undefined, headers] as never
    testRows([
      row('may not load it', get(EVIL), 403, 'cross_origin', { headers: { 'cross-origin-resource-policy': 'same-origin' } }),
      row('may not embed it', get({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }), 403, 'cross_origin'),
      row('may ask for its head neither', [`HEAD /svc/pipeline/gate/${media}`, undefined, EVIL], 403),
      row('may link to it', get({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }), 404),
      row('may load it with the API key', get({ ...EVIL, ...KEY }), 404),
    ])
  })

  it.each([fetchHost, nodeHost])('is none when its origin is that of the service, on $name', async (host) => {
    await using api = await createTestApi(host)
    expect((await api.send('POST', '/svc/pipeline', IDLE, { origin: api.origin })).status).toBe(201)
  })

  it('may change something with a session token, and not after the logout', async () => {
    const api = await openApi(passwordSet())
    const session = await login(api)
    const statusNow = async () => (await api.send('POST', '/svc/pipeline', IDLE, { ...EVIL, ...session })).status
    expect(await statusNow()).toBe(201)
    await api.send('POST', '/svc/auth/logout', undefined, session)
    expect(await statusNow()).toBe(403)
  })

  it('is refused by every route that changes something, before rate limits count it', async () => {
    const api = await openApi()
    for (const { method, path, limit } of apiRoutes(api.deps)) {
      if (method === 'GET') continue
      const statusWith = async (body: unknown, headers = {}) => (await api.send(method, path.replace(/:\w+/g, 'x'), body, headers)).status
      for (let count = 0; count <= (limit?.requests ?? 0); count += 1) {
        expect([method, path, await statusWith(undefined, EVIL)]).toEqual([method, path, 403])
      }
      // The limit lets it through to the route, where the body is wrong or the file unknown.
      if (limit !== undefined) expect([method, path, await statusWith('{}')]).toEqual([method, path, path.endsWith(':file') ? 404 : 400])
    }
  })
})

describe('an unknown host name, without a password', () => {
  testRowsOnAllHosts([
    unknownHost('may read nothing', LIST),
    unknownHost(
      'may create nothing, also with its own origin',
      'POST /svc/pipeline',
      { ...REBOUND, origin: 'http://rebound.test:8080' },
      IDLE,
    ),
    row('may read with the API key', [LIST, undefined, { ...REBOUND, ...KEY }], 200),
    row('is not an address', [LIST, undefined, { host: '[fe80::1]' }], 200),
    row('is not a name of this host', [LIST, undefined, { host: 'video.localhost:8080' }], 200),
  ])
  testRows([
    unknownHost('may follow no events', 'GET /svc/events'),
    unknownHost('may set no password', 'PUT /svc/auth/password', REBOUND, { password: 'x' }),
    unknownHost('learns no path', 'GET /svc/nothing'),
    unknownHost('is unknown with a known name in front', LIST, { host: 'localhost.rebound.test' }),
    unknownHost('is unknown with an address in front', LIST, { host: '127.0.0.1.rebound.test' }),
    unknownHost('is not admitted by a wrong key', LIST, { ...REBOUND, 'x-api-key': 'nonsense' }),
    ...['/svc/health', '/svc/healthz', '/svc/version', '/svc/auth/status'].map((path) =>
      row(`may read ${path}, which is public`, [`GET ${path}`, undefined, REBOUND], 200),
    ),
    ...['localhost:8080', 'LOCALHOST', 'localhost.', '10.0.0.7:8080', '[::1]:8080'].map((host) =>
      row(`is not ${host}`, [LIST, undefined, { host }], 200),
    ),
    row('needs a credential, as every name does, once a password is set', [LIST, undefined, REBOUND], 401, { given: passwordSet() }),
  ])

  const statusOf = async (ports: Partial<HostPorts>, headers: Record<string, string>, method = 'GET') => {
    await using api = await createTestApi(fetchHost, ports)
    return (await api.send(method, '/svc/pipeline', method === 'GET' ? undefined : IDLE, headers)).status
  }

  it('becomes known by SVC_ALLOWED_HOSTS and as the name of the host itself', async () => {
    expect(await statusOf({ allowedHosts: ['video.example.org'] }, { host: 'Video.Example.org:8080' })).toBe(200)
    expect(await statusOf({ allowedHosts: ['video.example.org'] }, { host: 'other.example.org' })).toBe(403)
    expect(await statusOf({ allowedHosts: ['*'] }, { host: 'whatever.test' })).toBe(200)
    expect(await statusOf({ hostNames: ['station', 'station.local'] }, { host: 'station.local:8080' })).toBe(200)
  })

  it('is that of a trusted proxy too', async () => {
    const proxied = { host: '127.0.0.1:8080', 'x-forwarded-host': 'evil.test, video.example.org', 'x-forwarded-proto': 'https' }
    const trusting = { trustProxy: true, allowedHosts: ['video.example.org'] }
    expect(await statusOf(trusting, proxied)).toBe(200)
    expect(await statusOf(trusting, { ...proxied, origin: 'https://video.example.org' }, 'POST')).toBe(201)
    expect(await statusOf(trusting, { ...proxied, origin: 'http://video.example.org' }, 'POST')).toBe(403)
    expect(await statusOf(trusting, { ...proxied, origin: 'https://evil.test' }, 'POST')).toBe(403)
    expect(await statusOf({ trustProxy: true }, proxied)).toBe(403)
    // A page can send this field itself.
    expect(await statusOf(trusting, { host: 'rebound.test', 'x-forwarded-host': 'video.example.org' })).toBe(403)
  })

  it('does not stop the preflight of an origin that may call, whose request then brings its key', async () => {
    await using api = await createTestApi(fetchHost, { corsOrigins: [EVIL.origin], allowedHosts: [] })
    const headers = { ...EVIL, host: 'video.example.org' }
    const preflight = toRequest('OPTIONS', '/svc/pipeline', undefined, { ...headers, 'access-control-request-method': 'POST' })
    expect((await api.app(preflight)).status).toBe(204)
    expect((await api.send('GET', '/svc/pipeline', undefined, { ...headers, ...KEY })).status).toBe(200)
    expect((await api.send('GET', '/svc/pipeline', undefined, headers)).status).toBe(403)
  })
})

describe('an API that other hosts reach', () => {
  it.each([true, false])('warns in its health until a password is set: %s', async (isExposed) => {
    await using api = await createTestApi(fetchHost, { isExposed: () => isExposed })
    const warnings = async () => ((await api.read('/svc/health')) as { warnings?: string[] }).warnings
    expect(await warnings()).toEqual(isExposed ? ['open_api'] : undefined)
    await passwordSet()(api)
    expect(await warnings()).toBeUndefined()
  })
})

describe('the origins of SVC_CORS_ORIGINS', () => {
  const EXPLORER = 'http://127.0.0.1:8081'

  const ask = async (method: string, headers: Record<string, string>, body?: unknown) => {
    const api = await openApi()
    return await createApp({ ...api.deps, corsOrigins: [EXPLORER] })(toRequest(method, '/svc/pipeline', body, headers))
  }

  it('may change something, and no origin that only begins so', async () => {
    const statusOf = async (origin: string) => (await ask('POST', { origin }, IDLE)).status
    expect([await statusOf(`${EXPLORER}.example`), await statusOf(`${EXPLORER}0`), await statusOf(EXPLORER)]).toEqual([403, 403, 201])
  })

  it('may read the answer, which varies by origin; others may not', async () => {
    const { status, headers } = await ask('GET', { origin: EXPLORER })
    const found = ['allow-origin', 'allow-credentials'].map((name) => headers.get(`access-control-${name}`))
    expect([status, ...found, headers.get('vary')]).toEqual([200, EXPLORER, null, 'origin'])
    for (const origin of ['http://evil.test', `${EXPLORER}.evil.test`, 'null']) {
      expect((await ask('GET', { origin })).headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  it('may read every header field that the API document names', async () => {
    const { paths } = createOpenApiDocument(apiRoutes({} as AppDeps), { version: '0.1.0', serverUrl: EXPLORER })
    const responses = Object.values(paths).flatMap((path) => Object.values(path).flatMap(({ responses: all }) => Object.values(all)))
    const documented = new Set(responses.flatMap(({ headers }) => Object.keys(headers as object)))
    const exposed = (await ask('GET', { origin: EXPLORER })).headers.get('access-control-expose-headers')?.split(', ') ?? []
    // Those that the CORS protocol never withholds, and what only the browser itself needs.
    const readable = [...exposed, 'cache-control', 'last-modified', 'content-disposition', 'www-authenticate']
    expect([...documented].filter((name) => !readable.includes(name))).toEqual([])
  })

  it('get the methods of a path in a preflight without credentials; others do not', async () => {
    const fields = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
    const { status, headers } = await ask('OPTIONS', { origin: EXPLORER, ...fields })
    expect([status, headers.get('access-control-allow-methods')]).toEqual([204, 'GET, HEAD, POST'])
    expect(headers.get('access-control-allow-headers')).toContain('authorization')
    const refused = await ask('OPTIONS', { origin: 'http://evil.test', ...fields })
    expect([refused.status, refused.headers.get('access-control-allow-methods')]).toEqual([405, null])
  })
})
