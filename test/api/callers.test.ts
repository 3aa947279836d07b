import { describe, expect, it } from 'vitest'
import { apiRoutes, createApp, type HostPorts } from '../../handlers/app.ts'
import { API_KEY, createTestApi, ORIGIN, simple, type TestApi, toRequest } from '../helpers/api/api.ts'
import { fetchHost, nodeHost, workerHost } from '../helpers/api/hosts.ts'
import { type ApiRow, testRows } from './api-rows.ts'

const PASSWORD = 'correct horse battery staple'
const EVIL = { origin: 'http://evil.test' }
const REBOUND = { host: 'rebound.test:8080' }
const KEY = { 'x-api-key': API_KEY }

const create = (headers: Record<string, string>, id = 'planted'): ApiRow['request'] => [
  'POST',
  '/svc/pipeline',
  JSON.stringify(simple(id, { on_demand: true })),
  headers,
]
const nothingChanged = async (api: TestApi) => expect(await api.deps.pipelines.list()).toEqual([])
const withPassword = async (api: TestApi) => expect((await api.send('PUT', '/svc/auth/password', { password: PASSWORD })).status).toBe(200)
const login = async (api: TestApi) => {
  const response = await api.send('POST', '/svc/auth/login', { password: PASSWORD })
  return { authorization: `Bearer ${((await response.json()) as { token: string }).token}` }
}

const crossOrigin = (name: string, headers: Record<string, string>): ApiRow => ({
  name,
  request: create(headers),
  status: 403,
  contains: ['"code":"FORBIDDEN"', '"reason":"cross_origin"', 'SVC_CORS_ORIGINS'],
  after: nothingChanged,
})
const unknownHost = (name: string, request: ApiRow['request'], more: Partial<ApiRow> = {}): ApiRow => ({
  name,
  request,
  status: 403,
  contains: ['"code":"FORBIDDEN"', '"reason":"unknown_host"', 'SVC_ALLOWED_HOSTS'],
  after: nothingChanged,
  ...more,
})

describe('a page of another origin', () => {
  testRows([
    crossOrigin('may not create a pipeline with a body that needs no preflight', { ...EVIL, 'content-type': 'text/plain' }),
    crossOrigin('may not send a form', { ...EVIL, 'content-type': 'application/x-www-form-urlencoded' }),
    crossOrigin('may not send JSON', EVIL),
    crossOrigin('is foreign when its origin is null', { origin: 'null' }),
    crossOrigin('is foreign when its origin is no URL', { origin: 'about' }),
    crossOrigin('is foreign on another port of the same host', { origin: 'http://127.0.0.1:1' }),
    crossOrigin('is foreign with another scheme', { origin: ORIGIN.replace('http:', 'https:') }),
    crossOrigin('is foreign when only the fetch metadata says so', { 'sec-fetch-site': 'cross-site' }),
    crossOrigin('is foreign on another host of the same site', { 'sec-fetch-site': 'same-site' }),
    crossOrigin('is not admitted by a wrong key', { ...EVIL, 'x-api-key': 'nonsense' }),
    crossOrigin('is not admitted by a wrong token', { ...EVIL, authorization: `Bearer ${'A'.repeat(43)}` }),
    crossOrigin('is not helped by header fields of a proxy that is not trusted', {
      origin: 'https://evil.test',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'other.test',
    }),
    {
      name: 'may not log in',
      given: withPassword,
      request: ['POST', '/svc/auth/login', { password: PASSWORD }, EVIL],
      status: 403,
      contains: ['cross_origin'],
      lacks: ['token'],
    },
    {
      name: 'is told so before its body is read',
      request: ['POST', '/svc/pipeline', 'no JSON', EVIL],
      status: 403,
      contains: ['cross_origin'],
    },
    { name: 'is told so at an unknown path too', request: ['POST', '/svc/nothing', '{}', EVIL], status: 403, contains: ['cross_origin'] },
    { name: 'is told so for another method too', request: ['DELETE', '/svc/pipeline', undefined, EVIL], status: 403 },
    { name: 'is told so by the triggers too', request: ['PUT', '/svc/triggers/mediaServer/publish?path=a', undefined, EVIL], status: 403 },
    { name: 'may change something with the API key', request: create({ ...EVIL, ...KEY }), status: 201 },
    { name: 'may read, and its browser keeps the answer from it', request: ['GET', '/svc/pipeline', undefined, EVIL], status: 200 },
    {
      name: 'gets no permission in a preflight',
      request: ['OPTIONS', '/svc/pipeline', undefined, { ...EVIL, 'access-control-request-method': 'PUT' }],
      status: 405,
      headers: { 'access-control-allow-origin': null },
    },
    {
      name: 'is none: the page of the service itself',
      request: create({ 'sec-fetch-site': 'same-origin' }),
      status: 201,
    },
    { name: 'is none: what the user typed', request: create({ 'sec-fetch-site': 'none' }), status: 201 },
    { name: 'is none: a body without content type, as curl -d sends it', request: create({ 'content-type': '' }), status: 201 },
    {
      name: 'is none: a form of a program that names no origin',
      request: create({ 'content-type': 'application/x-www-form-urlencoded' }),
      status: 201,
    },
  ])

  it('is none when its origin is that of the service', async () => {
    for (const host of [fetchHost, nodeHost]) {
      await using api = await createTestApi(host)
      expect((await api.send('POST', '/svc/pipeline', simple('own', { on_demand: true }), { origin: api.origin })).status).toBe(201)
    }
  })

  it('may change something with a session token, and not after the logout', async () => {
    await using api = await createTestApi()
    await withPassword(api)
    const token = await login(api)
    const [method, path, body] = create({})
    expect((await api.send(method, path, body, { ...EVIL, ...token })).status).toBe(201)
    await api.send('POST', '/svc/auth/logout', undefined, token)
    expect((await api.send(method, path, body, { ...EVIL, ...token })).status).toBe(403)
  })

  it('may change something when SVC_CORS_ORIGINS names its origin, and no other may', async () => {
    await using api = await createTestApi()
    const app = createApp({ ...api.deps, corsOrigins: [EVIL.origin] })
    const ask = async (origin: string) =>
      (await app(toRequest('POST', '/svc/pipeline', simple('a', { on_demand: true }), { origin }))).status
    expect([await ask(`${EVIL.origin}.example`), await ask(`${EVIL.origin}:81`), await ask(EVIL.origin)]).toEqual([403, 403, 201])
  })

  it('is refused by every route that changes something, before rate limits count it', async () => {
    await using api = await createTestApi()
    for (const { method, path, limit } of apiRoutes(api.deps)) {
      if (method === 'GET') continue
      for (let count = 0; count <= (limit?.requests ?? 0); count += 1) {
        const { status } = await api.send(method, path.replace(/:\w+/g, 'x'), undefined, EVIL)
        expect([method, path, status]).toEqual([method, path, 403])
      }
      if (limit === undefined) continue
      const { status } = await api.send(method, path.replace(/:\w+/g, 'x'), '{}')
      // The limit lets it through to the route, where the body is wrong or the file unknown.
      expect([method, path, status]).toEqual([method, path, path.endsWith(':file') ? 404 : 400])
    }
  })
})

describe('a host name that is not known, without a password', () => {
  testRows(
    [
      unknownHost('may read nothing', ['GET', '/svc/pipeline', undefined, REBOUND]),
      unknownHost('may follow no events', ['GET', '/svc/events', undefined, REBOUND]),
      unknownHost('may create nothing, also with the origin of that name', create({ ...REBOUND, origin: 'http://rebound.test:8080' })),
      unknownHost('may set no password', ['PUT', '/svc/auth/password', { password: 'x' }, REBOUND], {
        after: async (api) => expect(await api.deps.credentials.find()).toBeUndefined(),
      }),
      unknownHost('learns no path', ['GET', '/svc/nothing', undefined, REBOUND]),
      unknownHost('learns no method', ['OPTIONS', '/svc/pipeline', undefined, REBOUND]),
      unknownHost('is unknown with a known name in front', ['GET', '/svc/pipeline', undefined, { host: 'localhost.rebound.test' }]),
      unknownHost('is unknown with an address in front', ['GET', '/svc/pipeline', undefined, { host: '127.0.0.1.rebound.test' }]),
      unknownHost('is not admitted by a wrong key', ['GET', '/svc/pipeline', undefined, { ...REBOUND, 'x-api-key': 'nonsense' }]),
      { name: 'may read with the API key', request: ['GET', '/svc/pipeline', undefined, { ...REBOUND, ...KEY }], status: 200 },
      ...['/svc/health', '/svc/healthz', '/svc/version', '/svc/auth/status'].map(
        (path): ApiRow => ({ name: `may read ${path}, which is public`, request: ['GET', path, undefined, REBOUND], status: 200 }),
      ),
      ...['localhost:8080', 'LOCALHOST', 'localhost.', 'video.localhost', '10.0.0.7:8080', '[::1]:8080', '[fe80::1]'].map(
        (host): ApiRow => ({ name: `is not ${host}`, request: ['GET', '/svc/pipeline', undefined, { host }], status: 200 }),
      ),
      {
        name: 'asks for a credential, as every name does, once a password is set',
        given: withPassword,
        request: ['GET', '/svc/pipeline', undefined, REBOUND],
        status: 401,
      },
    ],
    [fetchHost, nodeHost, workerHost],
  )

  const statusOf = async (ports: Partial<HostPorts>, headers: Record<string, string>, method = 'GET') => {
    await using api = await createTestApi(fetchHost, ports)
    return (await api.send(method, '/svc/pipeline', method === 'GET' ? undefined : simple('a', { on_demand: true }), headers)).status
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
    const origin = 'https://video.example.org'
    expect(await statusOf(trusting, proxied)).toBe(200)
    expect(await statusOf(trusting, { ...proxied, origin }, 'POST')).toBe(201)
    expect(await statusOf(trusting, { ...proxied, origin: 'http://video.example.org' }, 'POST')).toBe(403)
    expect(await statusOf(trusting, { ...proxied, origin: 'https://evil.test' }, 'POST')).toBe(403)
    expect(await statusOf({ trustProxy: true }, proxied)).toBe(403)
    // A page can send this field itself.
    expect(await statusOf(trusting, { host: 'rebound.test', 'x-forwarded-host': 'video.example.org' })).toBe(403)
  })

  it('does not stop the preflight of an origin that may call, whose request then brings its key', async () => {
    await using api = await createTestApi(fetchHost, { corsOrigins: [EVIL.origin], allowedHosts: [] })
    const headers = { ...EVIL, host: 'video.example.org', 'access-control-request-method': 'POST' }
    expect((await api.app(toRequest('OPTIONS', '/svc/pipeline', undefined, headers))).status).toBe(204)
    expect((await api.send('GET', '/svc/pipeline', undefined, { ...EVIL, ...KEY, host: 'video.example.org' })).status).toBe(200)
    expect((await api.send('GET', '/svc/pipeline', undefined, { ...EVIL, host: 'video.example.org' })).status).toBe(403)
  })
})

describe('an API that other hosts reach', () => {
  const health = async (api: TestApi) => (await (await api.send('GET', '/svc/health')).json()) as { warnings?: string[] }

  it('warns in its health until a password is set', async () => {
    await using api = await createTestApi(fetchHost, { isExposed: () => true })
    expect(await health(api)).toMatchObject({ warnings: ['open_api'] })
    await withPassword(api)
    expect(await health(api)).not.toHaveProperty('warnings')
  })

  it('does not warn when only this host reaches it', async () => {
    await using api = await createTestApi(fetchHost, { isExposed: () => false })
    expect(await health(api)).not.toHaveProperty('warnings')
  })
})
