import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sessions } from '../../db/tables.ts'
import { apiRoutes } from '../../handlers/app.ts'
import { API_KEY, createTestApi, START, type TestApi } from '../helpers/api/api.ts'
import { testRows } from './api-rows.ts'

const PASSWORD = 'correct horse battery staple'
const DAY_MS = 24 * 60 * 60 * 1000

const setPassword = (api: TestApi, password = PASSWORD, headers = {}) => api.send('PUT', '/svc/auth/password', { password }, headers)
const login = async (api: TestApi, password = PASSWORD): Promise<string> => {
  const response = await api.send('POST', '/svc/auth/login', { password })
  return ((await response.json()) as { token: string }).token
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const key = (value = API_KEY) => ({ 'x-api-key': value })
const enabled = async (api: TestApi) => expect((await setPassword(api)).status).toBe(200)

describe('login and password', () => {
  testRows([
    { name: 'authentication is off at first', request: ['GET', '/svc/auth/status'], status: 200, contains: ['{"auth_enabled":false}'] },
    {
      name: 'authentication is on once a password is set',
      given: enabled,
      request: ['GET', '/svc/auth/status'],
      status: 200,
      contains: ['{"auth_enabled":true}'],
    },
    {
      name: 'anyone may set the first password',
      request: ['PUT', '/svc/auth/password', { password: 'x' }],
      status: 200,
      contains: ['{"auth_enabled":true}'],
    },
    { name: 'a password of 1024 characters is taken', request: ['PUT', '/svc/auth/password', { password: 'x'.repeat(1024) }], status: 200 },
    {
      name: 'an empty password is refused',
      request: ['PUT', '/svc/auth/password', { password: '' }],
      status: 400,
      contains: ['"path":"password"'],
    },
    {
      name: 'a password of 1025 characters is refused and not echoed',
      request: ['PUT', '/svc/auth/password', { password: 'z'.repeat(1025) }],
      status: 400,
      lacks: ['zzz'],
    },
    { name: 'a password that is no text is refused', request: ['PUT', '/svc/auth/password', { password: 17 }], status: 400 },
    { name: 'a missing password is refused', request: ['PUT', '/svc/auth/password', {}], status: 400, contains: ['"path":"password"'] },
    {
      name: 'a login answers a token and its expiry in 24 hours',
      inProcess: true,
      given: enabled,
      request: ['POST', '/svc/auth/login', { password: PASSWORD }],
      status: 200,
      after: (_api, _response, text) =>
        expect(JSON.parse(text)).toEqual({
          token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
          expires: new Date(START + DAY_MS).toISOString(),
        }),
    },
    {
      name: 'a wrong password is 400',
      given: enabled,
      request: ['POST', '/svc/auth/login', { password: 'wrong-guess' }],
      status: 400,
      contains: ['"code":"VALIDATION_ERROR"'],
      lacks: ['wrong-guess'],
    },
    { name: 'a login without password in the body is 400', given: enabled, request: ['POST', '/svc/auth/login', {}], status: 400 },
    {
      name: 'a change of the password needs credentials',
      given: enabled,
      request: ['PUT', '/svc/auth/password', { password: 'new' }],
      status: 401,
    },
    { name: 'the removal of the password needs credentials', given: enabled, request: ['DELETE', '/svc/auth/password'], status: 401 },
    {
      name: 'the removal of the password switches authentication off',
      given: enabled,
      request: ['DELETE', '/svc/auth/password', undefined, key()],
      status: 204,
      after: async (api) => expect(await (await api.send('GET', '/svc/auth/status')).json()).toEqual({ auth_enabled: false }),
    },
    { name: 'the removal of a password that is not set is no failure', request: ['DELETE', '/svc/auth/password'], status: 204 },
    { name: 'a logout without a session is no failure', request: ['POST', '/svc/auth/logout'], status: 204 },
  ])

  it('a wrong password and a password that was never set get the same answer', async () => {
    await using without = await createTestApi()
    await using wrong = await createTestApi()
    await enabled(wrong)
    const answers = await Promise.all(
      [without, wrong].map(async (api) => (await api.send('POST', '/svc/auth/login', { password: 'guess' })).text()),
    )
    expect(answers[0]).toBe(answers[1])
  })

  it.each<[string, Record<string, string>, string]>([
    ['nothing', {}, 'Authentication is required.'],
    ['another scheme', { authorization: 'Basic dXNlcjpwYXNz' }, 'Authentication is required.'],
    ['a wrong key', { 'x-api-key': 'another-key-than-that-of-here' }, 'The API key is wrong.'],
    ['a token that is not known', bearer('x'.repeat(43)), 'The token has expired'],
    ['both', { ...bearer('x'.repeat(43)), 'x-api-key': 'another-key' }, 'The API key is wrong.'],
  ])('says what is wrong with %s', async (_, headers, message) => {
    await using api = await createTestApi()
    await enabled(api)
    const answer = await api.send('GET', '/svc/settings', undefined, headers)
    expect(await answer.json()).toEqual({ code: 'UNAUTHORIZED', message: expect.stringContaining(message), details: {} })
  })

  it('a new password ends every session and the old password', async () => {
    await using api = await createTestApi()
    await enabled(api)
    const token = await login(api)
    expect((await setPassword(api, 'another', bearer(token))).status).toBe(200)
    expect((await api.send('GET', '/svc/settings', undefined, bearer(token))).status).toBe(401)
    expect((await api.send('POST', '/svc/auth/login', { password: PASSWORD })).status).toBe(400)
    expect((await api.send('GET', '/svc/settings', undefined, bearer(await login(api, 'another')))).status).toBe(200)
  })

  it('a removed password ends every session for good', async () => {
    await using api = await createTestApi()
    await enabled(api)
    const token = await login(api)
    await api.send('DELETE', '/svc/auth/password', undefined, bearer(token))
    await enabled(api)
    expect((await api.send('GET', '/svc/settings', undefined, bearer(token))).status).toBe(401)
  })

  it('a logout ends its own session only', async () => {
    await using api = await createTestApi()
    await enabled(api)
    const [mine, other] = [await login(api), await login(api)]
    expect((await api.send('POST', '/svc/auth/logout', undefined, bearer(mine))).status).toBe(204)
    expect((await api.send('GET', '/svc/settings', undefined, bearer(mine))).status).toBe(401)
    expect((await api.send('GET', '/svc/settings', undefined, bearer(other))).status).toBe(200)
  })

  it('of many concurrent requests that set the first password, one succeeds', async () => {
    await using api = await createTestApi()
    const statuses = (await Promise.all(['a', 'b', 'c', 'd'].map((password) => setPassword(api, password)))).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 401, 401, 401])
  })

  it('expired sessions are deleted at the next login', async () => {
    await using api = await createTestApi()
    await enabled(api)
    await login(api)
    api.time += DAY_MS
    await login(api)
    expect(await api.database.orm.$count(sessions)).toBe(1)
  })

  it('neither password nor token nor key is in any file of the data directory', async () => {
    await using api = await createTestApi()
    await enabled(api)
    const token = await login(api)
    const files = await readdir(api.folder)
    expect(files.length).toBeGreaterThan(0)
    for (const file of files) {
      const content = (await readFile(join(api.folder, file))).toString('latin1')
      for (const secret of [PASSWORD, token, API_KEY]) expect(content.includes(secret)).toBe(false)
    }
    expect(JSON.stringify(api.logged)).not.toContain(token)
  })
})

/** How a request may present itself, and whether that opens a closed route. */
const credentials: readonly (readonly [
  name: string,
  headers: (api: TestApi) => Promise<Record<string, string>> | Record<string, string>,
  opens: boolean,
])[] = [
  ['no credential', () => ({}), false],
  ['a bad token', () => bearer('A'.repeat(43)), false],
  ['a token of another scheme', async (api) => ({ authorization: `Basic ${await login(api)}` }), false],
  ['a malformed header', () => ({ authorization: 'Bearer' }), false],
  ['a logged-out token', async (api) => loggedOut(api), false],
  ['an expired token', async (api) => expired(api), false],
  ['a good token', async (api) => bearer(await login(api)), true],
  ['a good token and a bad key', async (api) => ({ ...bearer(await login(api)), ...key('nonsense') }), true],
  ['a bad key', () => key('nonsense'), false],
  ['an empty key', () => key(''), false],
  ['a good key', () => key(), true],
  ['a good key and a bad token', () => ({ ...key(), ...bearer('nonsense') }), true],
]

const loggedOut = async (api: TestApi) => {
  const headers = bearer(await login(api))
  await api.send('POST', '/svc/auth/logout', undefined, headers)
  return headers
}
const expired = async (api: TestApi) => {
  const headers = bearer(await login(api))
  api.time += DAY_MS
  return headers
}

const PUBLIC = ['GET /svc/health', 'GET /svc/healthz', 'GET /svc/version', 'GET /svc/auth/status', 'POST /svc/auth/login']
const TRIGGERS = ['PUT /svc/triggers/mediaServer/publish', 'DELETE /svc/triggers/mediaServer/publish']

describe('the credentials of each route', () => {
  it('only the documented routes are public, and only the triggers always need the key', async () => {
    await using api = await createTestApi()
    const named = (access: string) =>
      apiRoutes(api.deps)
        .filter((route) => route.access === access)
        .map(({ method, path }) => `${method} ${path}`)
    expect(named('public').sort()).toEqual([...PUBLIC].sort())
    expect(TRIGGERS).toEqual(expect.arrayContaining(named('api_key')))
  })

  for (const [name, headersOf, opens] of credentials) {
    for (const on of [true, false]) {
      it(`with ${name} while a password is ${on ? 'set' : 'not set'}`, async () => {
        await using api = await createTestApi()
        const routes = apiRoutes(api.deps)
        expect(routes.length).toBeGreaterThanOrEqual(40)
        for (const { method, path, access } of routes) {
          await enabled(api)
          const headers = await headersOf(api)
          if (!on) await api.deps.credentials.clear()
          const body = method === 'GET' || method === 'DELETE' ? undefined : {}
          const response = await api.send(method, path.replace(/:\w+/g, 'unknown'), body, headers)
          const isKey = 'x-api-key' in headers && headers['x-api-key'] === API_KEY
          const closed = access === 'api_key' ? !isKey : access === 'session' && on && !opens
          expect([method, path, response.status === 401]).toEqual([method, path, closed])
          if (closed) await expectRefusal(response, access)
          else await response.body?.cancel()
          await api.deps.credentials.clear()
          api.time += 61_000
        }
      })
    }
  }
})

const expectRefusal = async (response: Response, access: string) => {
  const trigger = access === 'api_key'
  expect(response.headers.get('www-authenticate')).toBe(trigger ? 'ApiKey' : 'Bearer')
  expect(await response.json()).toEqual(
    trigger ? { error: 'Unauthorized' } : { message: expect.any(String), code: 'UNAUTHORIZED', details: {} },
  )
}

describe('the login limit', () => {
  const attempt = (api: TestApi, clientAddress: string) =>
    api.app(new Request('http://api.test/svc/auth/login', { method: 'POST', body: '{"password":"guess"}' }), { clientAddress })

  it('refuses the eleventh attempt within a minute, until retry_after_seconds have passed', async () => {
    await using api = await createTestApi()
    for (let count = 0; count < 10; count += 1) {
      expect((await attempt(api, '192.0.2.7')).status).toBe(400)
      api.time += 1000
    }
    const refused = await attempt(api, '192.0.2.7')
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ code: 'RATE_LIMITED' })
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBe(50)
    api.time += seconds * 1000 - 1
    expect((await attempt(api, '192.0.2.7')).status).toBe(429)
    api.time += 1
    expect((await attempt(api, '192.0.2.7')).status).toBe(400)
  })

  it('counts each client separately, and an IPv6 /64 as one client', async () => {
    await using api = await createTestApi()
    for (let count = 0; count < 10; count += 1) await attempt(api, `2001:db8:1:2::${count}`)
    expect((await attempt(api, '2001:db8:1:2:ffff::1')).status).toBe(429)
    expect((await attempt(api, '2001:db8:1:3::1')).status).toBe(400)
    expect((await attempt(api, '192.0.2.8')).status).toBe(400)
  })
})
