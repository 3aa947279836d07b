import { describe, expect, it } from 'vitest'
import { createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { followSse, type SseClient } from '../helpers/api/sse-client.ts'
import { klvPacket } from '../helpers/fakes/klv.ts'
import { until } from '../helpers/until.ts'
import { testRows } from './api-rows.ts'

const BASE = '/svc/pipeline/uav-1/klv'

const ready = (api: TestApi) => api.given(simple('uav-1', { on_demand: true }))
const playing = async (api: TestApi) => {
  await api.given(simple('uav-1'))
  api.klv.carriers.add('uav-1')
}
const withPacket = async (api: TestApi) => {
  await playing(api)
  api.klv.send(klvPacket('uav-1', 60.25))
}

describe('KLV of a pipeline', () => {
  testRows([
    {
      name: 'is decoded from start',
      given: playing,
      request: ['PUT', `${BASE}/start`],
      status: 200,
      contains: ['"klv":{"available":true,"state":"playing"}'],
    },
    {
      name: 'is not decoded while the pipeline is ready',
      given: ready,
      request: ['PUT', `${BASE}/start`],
      status: 409,
      contains: ['not_playing'],
    },
    {
      name: 'is not decoded when the source has none',
      given: (api) => api.given(simple('uav-1')),
      request: ['PUT', `${BASE}/start`],
      status: 409,
      contains: ['"code":"CONFLICT"', '"reason":"no_klv"'],
    },
    {
      name: 'is not decoded for a pipeline that the engine does not know',
      given: async (api) => {
        await playing(api)
        api.engine.restart()
      },
      request: ['PUT', `${BASE}/start`],
      status: 409,
      contains: ['not_playing'],
    },
    {
      name: 'is not decoded while the engine is gone',
      given: async (api) => {
        await playing(api)
        api.engine.reachable = false
      },
      request: ['PUT', `${BASE}/start`],
      status: 503,
      contains: ['SERVICE_UNAVAILABLE'],
    },
    {
      name: 'can be stopped when decoding does not run',
      given: ready,
      request: ['PUT', `${BASE}/stop`],
      status: 200,
      contains: ['"id":"uav-1"'],
    },
    {
      name: 'can be stopped for a pipeline that the engine does not know',
      given: async (api) => {
        await playing(api)
        api.engine.restart()
      },
      request: ['PUT', `${BASE}/stop`],
      status: 200,
      contains: ['"state":"ready"'],
    },
    ...['start', 'stop'].flatMap((step) => [
      { name: `cannot ${step} for an unknown id`, request: ['PUT', `${BASE}/${step}`] as const, status: 404, contains: ['NOT_FOUND'] },
      { name: `cannot ${step} for an id outside the pattern`, request: ['PUT', `/svc/pipeline/a.b/klv/${step}`] as const, status: 400 },
      {
        name: `allows only PUT to ${step}`,
        given: playing,
        request: ['GET', `${BASE}/${step}`] as const,
        status: 405,
        headers: { allow: 'PUT' },
      },
    ]),
    {
      name: 'answers the last packet',
      given: withPacket,
      request: ['GET', BASE],
      status: 200,
      contains: ['"sensor_latitude":60.25', '"checksum_ok":true'],
    },
    {
      name: 'answers the last packet as json',
      given: withPacket,
      request: ['GET', `${BASE}?format=json`],
      status: 200,
      contains: ['"items":['],
    },
    {
      name: 'answers a GeoJSON Feature',
      given: withPacket,
      request: ['GET', `${BASE}?format=geojson`],
      status: 200,
      contains: ['"type":"Feature"'],
      headers: { 'content-type': 'application/geo+json', 'cache-control': 'no-store' },
    },
    {
      name: 'answers the footprint as a GeoJSON Feature',
      given: async (api) => {
        await playing(api)
        api.klv.send({ ...klvPacket('uav-1', 10), values: { corner_longitude_point_1_full: 29 } })
      },
      request: ['GET', `${BASE}?format=footprint`],
      status: 200,
      contains: ['"type":"Polygon"', '"method":"corners"'],
      headers: { 'content-type': 'application/geo+json', 'cache-control': 'no-store' },
    },
    {
      name: 'says why when there is no footprint',
      given: withPacket,
      request: ['GET', `${BASE}?format=footprint`],
      status: 404,
      contains: ['"code":"NOT_FOUND"', '"reason":"no_footprint"'],
    },
    {
      name: 'answers an event of Cursor on Target, with this service as the client calls it',
      given: withPacket,
      request: ['GET', `${BASE}?format=cot`],
      status: 200,
      contains: ['<event uid="uav-1">'],
      headers: { 'content-type': 'application/xml', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
    },
    {
      name: 'answers no event before the first packet',
      given: playing,
      request: ['GET', `${BASE}?format=cot`],
      status: 404,
      contains: ['"code":"NOT_FOUND"'],
    },
    {
      name: 'refuses another format',
      given: withPacket,
      request: ['GET', `${BASE}?format=xml`],
      status: 400,
      contains: ['format', 'json, geojson, footprint, cot'],
    },
    { name: 'refuses two formats', given: withPacket, request: ['GET', `${BASE}?format=json&format=geojson`], status: 400 },
    { name: 'answers 404 before the first packet', given: playing, request: ['GET', BASE], status: 404, contains: ['No KLV packet'] },
    { name: 'answers 404 for an unknown id', request: ['GET', BASE], status: 404 },
    { name: 'answers 404 for the events of an unknown id', request: ['GET', `${BASE}/events`], status: 404, contains: ['NOT_FOUND'] },
    {
      name: 'leaves no subscriber after HEAD',
      given: playing,
      request: ['HEAD', `${BASE}/events`],
      status: 200,
      after: (api) => expect(api.deps.events.feed.subscriberCount()).toBe(0),
    },
    {
      name: 'needs credentials once a password is set',
      given: async (api) => {
        await withPacket(api)
        await api.send('PUT', '/svc/auth/password', { password: 'correct horse battery' })
      },
      request: ['GET', BASE],
      status: 401,
      lacks: ['60.25'],
    },
  ])
})

const follow = async (api: TestApi, lastEventId?: string): Promise<SseClient> =>
  followSse(await api.send('GET', `${BASE}/events`, undefined, lastEventId === undefined ? {} : { 'last-event-id': lastEventId }))

const engineSends = (api: TestApi) =>
  until(
    () => api.klv.following('uav-1'),
    (count) => count === 1,
  )

describe('the KLV events of a pipeline', () => {
  it('are its packets, requested from the engine once for all clients', async () => {
    await using api = await createTestApi()
    await playing(api)
    expect(api.klv.following('uav-1')).toBe(0)
    const clients = [await follow(api), await follow(api), await follow(api)]
    await engineSends(api)
    api.klv.send(klvPacket('uav-1', 1))
    api.klv.send(klvPacket('other', 5))
    api.klv.send(klvPacket('uav-1', 2))
    for (const client of clients) {
      expect(await client.next()).toEqual({ retry: '2000' })
      expect(await client.next()).toEqual({ id: expect.any(String), event: 'klv', data: klvPacket('uav-1', 1) })
      expect((await client.next())?.data).toEqual(klvPacket('uav-1', 2))
    }
    for (const client of clients) await client.leave()
    api.deps.klvUpstreams.close()
    expect(api.klv.following('uav-1')).toBe(1)
    await until(
      () => api.klv.following('uav-1'),
      (count) => count === 0,
    )
  })

  it('are replayed to a client that reconnects soon, because the engine continues for a while', async () => {
    await using api = await createTestApi()
    await playing(api)
    const client = await follow(api)
    await engineSends(api)
    api.klv.send(klvPacket('uav-1', 1))
    const seen = await client.nextOf('klv')
    await client.leave()
    api.klv.send(klvPacket('uav-1', 2))
    await until(
      () => api.deps.events.feed.missedSince(seen.id ?? '', () => true),
      (missed) => missed.length === 1,
    )
    const back = await follow(api, seen.id)
    api.klv.send(klvPacket('uav-1', 3))
    expect([(await back.nextOf('klv')).data, (await back.nextOf('klv')).data]).toEqual([klvPacket('uav-1', 2), klvPacket('uav-1', 3)])
    await back.leave()
    api.deps.klvUpstreams.close()
  })

  it('end when the pipeline is deleted', async () => {
    await using api = await createTestApi()
    await playing(api)
    const client = await follow(api)
    await api.send('PUT', '/svc/pipeline/uav-1/stop')
    expect((await api.send('DELETE', '/svc/pipeline/uav-1')).status).toBe(204)
    expect(await client.rest()).toEqual([
      { retry: '2000' },
      { id: expect.any(String), event: 'pipeline_not_found', data: { pipeline_id: 'uav-1' } },
    ])
    api.deps.klvUpstreams.close()
  })

  it('are not in the stream of all events', async () => {
    await using api = await createTestApi()
    await playing(api)
    const everything = followSse(await api.send('GET', '/svc/events'))
    const client = await follow(api)
    await engineSends(api)
    api.klv.send(klvPacket('uav-1', 1))
    await client.nextOf('klv')
    await api.send('PATCH', '/svc/pipeline/uav-1', { geolocation: { latitude: 3, longitude: 4 } })
    for (let block = await everything.next(); block?.data?.geolocation?.latitude !== 3; block = await everything.next()) {
      expect(block?.event).not.toBe('klv')
    }
    await everything.leave()
    await client.leave()
    api.deps.klvUpstreams.close()
  })
})
