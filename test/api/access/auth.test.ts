import { describe, expect, it } from 'vitest'
import { sessions } from '../../../db/tables.ts'
import { apiRoutes } from '../../../handlers/app.ts'
import { API_KEY, createTestApi, openApi, START, type TestApi } from '../../helpers/api/api.ts'
import { login, PASSWORD, passwordSet, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const given = passwordSet()
const KEY = { 'x-api-key': API_KEY }

const setPassword = (api: TestApi, password: string, headers = {}) => api.send('PUT', '/svc/auth/password', { password }, headers)
const settingsWith = async (api: TestApi, headers: Record<string, string>) =>
  (await api.send('GET', '/svc/settings', undefined, headers)).status

describe('login and password', () => {
  testRowsOnAllHosts([
    row('authentication is off at first', 'GET /svc/auth/status', 200, '{"auth_enabled":false}'),
    row('authentication is on once a password is set', 'GET /svc/auth/status', 200, '{"auth_enabled":true}', { given }),
    row('a wrong password is 400', ['POST /svc/auth/login', { password: 'wrong-guess' }], 400, 'VALIDATION_ERROR', {
      given,
      lacks: ['wrong-guess'],
    }),
    row('the removal of the password needs credentials', 'DELETE /svc/auth/password', 401, { given }),
    row('the removal of the password switches authentication off', ['DELETE /svc/auth/password', undefined, KEY], 204, {
      given,
      after: async (api) => expect(await api.read('/svc/auth/status')).toEqual({ auth_enabled: false }),
    }),
    row('a logout without a session is no failure', 'POST /svc/auth/logout', 204),
  ])
  testRows([
    row('anyone may set the first password', ['PUT /svc/auth/password', { password: 'geheimnö' }], 200, '{"auth_enabled":true}'),
    row('one of an earlier version may be shorter', ['POST /svc/auth/login', { password: 'short' }], 200, '"token"', {
      given: async ({ deps }) => deps.credentials.set(await deps.hasher.hash('short'), 0),
    }),
    row('a password may have 1024 characters', ['PUT /svc/auth/password', { password: 'x'.repeat(1024) }], 200),
    row('a shorter one than 8 characters is refused', ['PUT /svc/auth/password', { password: '1234567' }], 400, 'Use 8 to 1024'),
    row('emoji count once', ['PUT /svc/auth/password', { password: '🎥🎥🎥🎥' }], 400),
    row('a longer password is refused and not echoed', ['PUT /svc/auth/password', { password: 'z'.repeat(1025) }], 400, { lacks: ['zzz'] }),
    row('a missing password is refused', ['PUT /svc/auth/password', {}], 400, '"path":"password"'),
    row('a login answers a token and its expiry in 24 hours', ['POST /svc/auth/login', { password: PASSWORD }], 200, {
      given,
      after: (_api, _response, text) => {
        const expires = new Date(START + DAY_MS).toISOString()
        expect(JSON.parse(text)).toEqual({ token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/), expires })
      },
    }),
    row('a login without a password is 400', ['POST /svc/auth/login', {}], 400, { given }),
    row('a change of the password needs credentials', ['PUT /svc/auth/password', { password: 'new' }], 401, { given }),
    row('the removal of a password that is not set is no failure', 'DELETE /svc/auth/password', 204),
  ])

  it('a wrong password and a password that was never set get the same answer', async () => {
    const without = await openApi()
    const wrong = await openApi()
    await given(wrong)
    const answers = [without, wrong].map(async (api) => (await api.send('POST', '/svc/auth/login', { password: 'guess' })).text())
    expect(await answers[0]).toBe(await answers[1])
  })

  it.each<[string, Record<string, string>, string]>([
    ['nothing', {}, 'Authentication is required.'],
    ['another scheme', { authorization: 'Basic dXNlcjpwYXNz' }, 'Authentication is required.'],
    ['a wrong key', { 'x-api-key': 'another-key-than-that-of-here' }, 'The API key is wrong.'],
    ['an unknown token', { authorization: `Bearer ${'x'.repeat(43)}` }, 'The token has expired'],
    ['both', { authorization: `Bearer ${'x'.repeat(43)}`, 'x-api-key': 'another-key' }, 'The API key is wrong.'],
  ])('says what is wrong with %s', async (_, headers, message) => {
    const api = await openApi(given)
    const answer = await api.send('GET', '/svc/settings', undefined, headers)
    expect(await answer.json()).toEqual({ code: 'UNAUTHORIZED', message: expect.stringContaining(message), details: {} })
  })

  it('a new password ends every session and the old password', async () => {
    const api = await openApi(given)
    const session = await login(api)
    expect((await setPassword(api, 'another one', session)).status).toBe(200)
    expect(await settingsWith(api, session)).toBe(401)
    expect((await api.send('POST', '/svc/auth/login', { password: PASSWORD })).status).toBe(400)
    expect(await settingsWith(api, await login(api, 'another one'))).toBe(200)
  })

  it('a logout ends its own session only, and the removal of the password every one for good', async () => {
    const api = await openApi(given)
    const [mine, other] = [await login(api), await login(api)]
    expect((await api.send('POST', '/svc/auth/logout', undefined, mine)).status).toBe(204)
    expect([await settingsWith(api, mine), await settingsWith(api, other)]).toEqual([401, 200])
    await api.send('DELETE', '/svc/auth/password', undefined, other)
    await given(api)
    expect(await settingsWith(api, other)).toBe(401)
  })

  it('of many concurrent requests that set the first password, one succeeds', async () => {
    const api = await openApi()
    const statuses = (await Promise.all(['a', 'b', 'c', 'd'].map((each) => setPassword(api, each.repeat(8))))).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 401, 401, 401])
  })

  it('expired sessions are deleted at the next login', async () => {
    const api = await openApi(given)
    await login(api)
    api.time += DAY_MS
    await login(api)
    expect(await api.database.orm.$count(sessions)).toBe(1)
  })
})

const loggedOut = async (api: TestApi) => {
  const session = await login(api)
  await api.send('POST', '/svc/auth/logout', undefined, session)
  return session
}
const expired = async (api: TestApi) => {
  const session = await login(api)
  api.time += DAY_MS
  return session
}

/** What a request presents, and whether that opens a closed route. */
const CREDENTIALS: readonly (readonly [string, (api: TestApi) => Promise<Record<string, string>>, opens: boolean])[] = [
  ['no credential', async () => ({}), false],
  ['a bad token', async () => ({ authorization: `Bearer ${'A'.repeat(43)}` }), false],
  ['a token of another scheme', async (api) => ({ authorization: (await login(api)).authorization.replace('Bearer', 'Basic') }), false],
  ['a malformed header', async () => ({ authorization: 'Bearer' }), false],
  ['a logged-out token', loggedOut, false],
  ['an expired token', expired, false],
  ['a good token', login, true],
  ['a good token and a bad key', async (api) => ({ ...(await login(api)), 'x-api-key': 'nonsense' }), true],
  ['a bad key', async () => ({ 'x-api-key': 'nonsense' }), false],
  ['an empty key', async () => ({ 'x-api-key': '' }), false],
  ['the key as a token', async () => ({ authorization: `Bearer ${API_KEY}` }), false],
  ['a good key', async () => KEY, true],
  ['a good key and a bad token', async () => ({ ...KEY, authorization: 'Bearer nonsense' }), true],
]

const PUBLIC = [
  'GET /svc/health',
  'GET /svc/healthz',
  'GET /svc/version',
  'GET /svc/auth/status',
  'POST /svc/auth/login',
  'GET /svc/recordings/key',
]
const TRIGGERS = ['PUT /svc/triggers/mediaServer/publish', 'DELETE /svc/triggers/mediaServer/publish']

describe('the credentials of each route', () => {
  it('only the documented routes are public, and only the triggers always need the key', async () => {
    const api = await openApi()
    const named = (access: string) =>
      apiRoutes(api.deps).flatMap((route) => (route.access === access ? [`${route.method} ${route.path}`] : []))
    expect([named('public').sort(), named('api_key').sort()]).toEqual([[...PUBLIC].sort(), [...TRIGGERS].sort()])
  })

  describe.each([true, false])('while a password is set: %s', (isSet) => {
    it.each(CREDENTIALS)('with %s', async (_, headersOf, opens) => {
      await using api = await createTestApi()
      const routes = apiRoutes(api.deps)
      expect(routes.length).toBeGreaterThanOrEqual(40)
      for (const { method, path, access } of routes) {
        await given(api)
        const headers = await headersOf(api)
        if (!isSet) await api.deps.credentials.clear()
        const body = method === 'GET' || method === 'DELETE' ? undefined : {}
        const response = await api.send(method, path.replace(/:\w+/g, 'unknown'), body, headers)
        const closed = access === 'api_key' ? headers['x-api-key'] !== API_KEY : access === 'session' && isSet && !opens
        expect([method, path, response.status === 401]).toEqual([method, path, closed])
        if (closed) await expectRefusal(response, access)
        else await response.body?.cancel()
        await api.deps.credentials.clear()
        api.time += 61_000
      }
    })
  })
})

const expectRefusal = async (response: Response, access: string) => {
  const [scheme, body] =
    access === 'api_key'
      ? ['ApiKey', { error: 'Unauthorized' }]
      : ['Bearer', { message: expect.any(String), code: 'UNAUTHORIZED', details: {} }]
  expect(response.headers.get('www-authenticate')).toBe(scheme)
  expect(await response.json()).toEqual(body)
}

describe('the login limit', () => {
  it('refuses the eleventh attempt of a client within a minute, until the time of Retry-After has passed', async () => {
    const api = await openApi()
    const attempt = (clientAddress: string) =>
      api.app(new Request('http://api.test/svc/auth/login', { method: 'POST', body: '{"password":"guess"}' }), { clientAddress })
    for (let count = 0; count < 10; count += 1) {
      expect((await attempt('192.0.2.7')).status).toBe(400)
      api.time += 1000
    }
    const refused = await attempt('192.0.2.7')
    expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'RATE_LIMITED' }])
    expect([refused.headers.get('retry-after'), (await attempt('192.0.2.8')).status]).toEqual(['50', 400])
    api.time += 49_999
    expect((await attempt('192.0.2.7')).status).toBe(429)
    api.time += 1
    expect((await attempt('192.0.2.7')).status).toBe(400)
  })
})
