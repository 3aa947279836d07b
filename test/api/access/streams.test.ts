import { describe, expect, it } from 'vitest'
import { API_KEY, advanced, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { workerHost } from '../../helpers/api/hosts.ts'
import { ALL_HOSTS, login, passwordSet } from '../../helpers/api/rows.ts'
import { followSse, type SseClient } from '../../helpers/api/sse-client.ts'

const KEY = { 'x-api-key': API_KEY }
const STREAMS = ['/svc/events', '/svc/cameras/events', '/svc/pipeline/cam-1/status/events', '/svc/pipeline/cam-1/klv/events']

const given = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))

const follow = async (api: TestApi, path: string, headers: Record<string, string> = {}): Promise<SseClient> => {
  const response = await api.send('GET', path, undefined, headers)
  expect([path, response.status]).toEqual([path, 200])
  const client = followSse(response)
  await client.next()
  return client
}
const followAll = (api: TestApi, headers?: Record<string, string>) => Promise.all(STREAMS.map((path) => follow(api, path, headers)))

/** The streams end within a second: their sessions are checked every half second. */
const expectEnds = async (...clients: readonly SseClient[]): Promise<void> => {
  const began = performance.now()
  await Promise.all(clients.map((client) => client.rest()))
  expect(performance.now() - began).toBeLessThan(1000)
}

describe.each(ALL_HOSTS)('the streams of a session on $name', (host) => {
  it('end with its logout', async () => {
    const api = await openApi(passwordSet(given), host)
    const session = await login(api)
    const clients = await followAll(api, session)
    await api.send('POST', '/svc/auth/logout', undefined, session)
    await expectEnds(...clients)
  })

  it('that were opened without a credential end when a password is set, those of the API key do not', async () => {
    const api = await openApi(given, host)
    const [open, key] = [await followAll(api), await follow(api, '/svc/events', KEY)]
    await passwordSet()(api)
    await expectEnds(...open)
    await api.send('PATCH', '/svc/pipeline/cam-1', { geolocation: { latitude: 1, longitude: 2 } }, KEY)
    // A worker has a feed for each request: there the stream sees only what the engine reports.
    if (host !== workerHost) await key.nextOf('pipeline_status')
    await key.leave()
  })
})

describe('the streams of a session', () => {
  it.each<[string, (api: TestApi) => unknown]>([
    ['a change of the password', (api) => api.send('PUT', '/svc/auth/password', { password: 'another one' }, KEY)],
    ['the removal of the password', (api) => api.send('DELETE', '/svc/auth/password', undefined, KEY)],
    ['its expiry', (api) => Object.assign(api, { time: api.time + 24 * 60 * 60 * 1000 })],
  ])('end with %s', async (_, end) => {
    const api = await openApi(passwordSet(given))
    const clients = await followAll(api, await login(api))
    await end(api)
    await expectEnds(...clients)
  })

  it('go on when another session ends, and leave no timer', async () => {
    const api = await openApi(passwordSet())
    const [mine, other] = [await login(api), await login(api)]
    const [stays, goes] = [await follow(api, '/svc/events', mine), await follow(api, '/svc/events', other)]
    await api.send('POST', '/svc/auth/logout', undefined, other)
    await expectEnds(goes)
    await api.send('POST', '/svc/pipeline', simple('cam-2', { on_demand: true }), mine)
    expect((await stays.nextOf('pipeline_status')).data.id).toBe('cam-2')
    await stays.leave()
    expect(api.deps.events.feed.subscriberCount()).toBe(0)
  })
})

describe('the limits of one client', () => {
  const open = (api: TestApi, clientAddress: string) => api.app(new Request(`${api.origin}/svc/events`), { clientAddress })

  it('are 64 streams of events, and another one as soon as one is closed', async () => {
    const api = await openApi()
    const responses = await Promise.all(Array.from({ length: 64 }, () => open(api, '192.0.2.9')))
    expect(responses.map(({ status }) => status)).toEqual(Array(64).fill(200))
    const refused = await open(api, '192.0.2.9')
    await api.answers.check('GET', `${api.origin}/svc/events`, refused)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await refused.json()).toMatchObject({ code: 'RATE_LIMITED', message: expect.stringContaining('64') })
    const other = await open(api, '192.0.2.10')
    await responses[0]?.body?.cancel()
    const again = await open(api, '192.0.2.9')
    expect([other.status, again.status]).toEqual([200, 200])
    for (const { body } of [...responses.slice(1), other, again]) await body?.cancel()
    expect(api.deps.events.feed.subscriberCount()).toBe(0)
  })

  it('are four dry runs at a time with 16 that wait, for validate, create and replace of advanced pipelines', async () => {
    const api = await openApi((api) => api.given(advanced('old', { on_demand: true })))
    const counts = { running: 0, most: 0 }
    const gate = Promise.withResolvers<void>()
    const { check } = api.deps.engine
    api.deps.engine.check = async (config) => {
      counts.running += 1
      counts.most = Math.max(counts.most, counts.running)
      await gate.promise
      counts.running -= 1
      return check(config)
    }
    const ask = async (method: string, path: string, body: unknown, clientAddress = '192.0.2.9') =>
      await api.app(new Request(`${api.origin}${path}`, { method, body: JSON.stringify(body) }), { clientAddress })
    const running = Array.from({ length: 18 }, (_, index) => ask('POST', '/svc/pipeline/validate', advanced(`a${index}`)))
    running.push(ask('POST', '/svc/pipeline', advanced('new')), ask('PUT', '/svc/pipeline/old', advanced('old', { on_demand: true })))
    await new Promise((resolve) => setImmediate(resolve))
    const refused = await ask('POST', '/svc/pipeline/validate', advanced('more'))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    await api.answers.check('POST', `${api.origin}/svc/pipeline/validate`, refused)
    running.push(ask('POST', '/svc/pipeline/validate', simple('s')), ask('POST', '/svc/pipeline/validate', advanced('b'), '192.0.2.10'))
    await new Promise((resolve) => setImmediate(resolve))
    // Four of the first client, one of the other, and the simple pipeline, which needs no process.
    expect(counts.most).toBe(6)
    gate.resolve()
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([...Array(18).fill(200), 201, 200, 200, 200])
    expect((await ask('POST', '/svc/pipeline/validate', advanced('more'))).status).toBe(200)
  })
})
