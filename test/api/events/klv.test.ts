import { describe, expect, it } from 'vitest'
import { openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { engineGone, engineReplaced, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'
import { followSse, type SseClient } from '../../helpers/api/sse-client.ts'
import { klvPacket } from '../../helpers/fakes/klv.ts'

const BASE = '/svc/pipeline/uav-1/klv'
const START = `PUT ${BASE}/start`
const STOP = `PUT ${BASE}/stop`

const ready = (api: TestApi) => api.given(simple('uav-1', { on_demand: true }))
const playing = async (api: TestApi) => {
  await api.given(simple('uav-1'))
  api.klv.carriers.add('uav-1')
}
const withPacket = async (api: TestApi) => {
  await playing(api)
  api.klv.send(klvPacket('uav-1', 60.25))
}
const withCorners = async (api: TestApi) => {
  await playing(api)
  api.klv.send({ ...klvPacket('uav-1', 10), values: { corner_longitude_point_1_full: 29 } })
}

describe('KLV of a pipeline', () => {
  const GEOJSON = { 'content-type': 'application/geo+json', 'cache-control': 'no-store' }
  const XML = { 'content-type': 'application/xml', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
  const read = (name: string, format: string, contains: readonly string[], headers: Record<string, string>, given = withPacket) =>
    row(name, `GET ${BASE}?format=${format}`, 200, contains, { given, headers })
  testRowsOnAllHosts([
    row('is decoded from start', START, 200, '"klv":{"available":true,"state":"playing"}', { given: playing }),
    row('can be stopped when decoding does not run', STOP, 200, '"id":"uav-1"', { given: ready }),
    row('is not decoded when the source has none', START, 409, ['"code":"CONFLICT"', '"reason":"no_klv"'], {
      given: (api) => api.given(simple('uav-1')),
    }),
    row('answers the last packet', `GET ${BASE}`, 200, ['"sensor_latitude":60.25', '"checksum_ok":true'], { given: withPacket }),
    read('answers a GeoJSON Feature', 'geojson', ['"type":"Feature"'], GEOJSON),
    read('answers the footprint as a GeoJSON Feature', 'footprint', ['"type":"Polygon"', '"method":"corners"'], GEOJSON, withCorners),
    read('answers an event of Cursor on Target', 'cot', ['<event uid="fake/uav-1">'], XML),
    row('answers 404 before the first packet', `GET ${BASE}`, 404, 'No KLV packet', { given: playing }),
    row('answers 404 for the events of an unknown id', `GET ${BASE}/events`, 404, 'NOT_FOUND'),
  ])
  testRows([
    row('is not decoded while the pipeline is ready', START, 409, 'not_playing', { given: ready }),
    row('is not decoded for a pipeline that the engine does not know', START, 409, 'not_playing', { given: engineReplaced(playing) }),
    row('is not decoded while the engine is gone', START, 503, 'SERVICE_UNAVAILABLE', { given: engineGone(playing) }),
    row('can be stopped for a pipeline that the engine does not know', STOP, 200, '"state":"ready"', { given: engineReplaced(playing) }),
    ...['start', 'stop'].flatMap((step) => [
      row(`cannot ${step} for an unknown id`, `PUT ${BASE}/${step}`, 404, 'NOT_FOUND'),
      row(`cannot ${step} for an id outside the pattern`, `PUT /svc/pipeline/a.b/klv/${step}`, 400),
    ]),
    read('answers the last packet as json', 'json', ['"items":['], { 'content-type': 'application/json' }),
    row('says why when there is no footprint', `GET ${BASE}?format=footprint`, 404, '"reason":"no_footprint"', { given: withPacket }),
    row('answers no event before the first packet', `GET ${BASE}?format=cot`, 404, '"code":"NOT_FOUND"', { given: playing }),
    row('refuses another format', `GET ${BASE}?format=xml`, 400, ['format', 'json, geojson, footprint, cot'], { given: withPacket }),
    row('refuses two formats', `GET ${BASE}?format=json&format=geojson`, 400, { given: withPacket }),
    row('answers 404 for an unknown id', `GET ${BASE}`, 404),
  ])
})

const follow = async (api: TestApi): Promise<SseClient> => followSse(await api.send('GET', `${BASE}/events`))

const upstreamsReach = (api: TestApi, count: number) => expect.poll(() => api.klv.following('uav-1')).toBe(count)

describe('the KLV events of a pipeline', () => {
  it('are its packets, requested from the engine once for all clients', async () => {
    const api = await openApi(playing)
    expect(api.klv.following('uav-1')).toBe(0)
    const clients = [await follow(api), await follow(api), await follow(api)]
    await upstreamsReach(api, 1)
    for (const packet of [klvPacket('uav-1', 1), klvPacket('other', 5), klvPacket('uav-1', 2)]) api.klv.send(packet)
    for (const client of clients) {
      expect(await client.next()).toEqual({ retry: '2000' })
      expect(await client.next()).toEqual({ id: expect.any(String), event: 'klv', data: klvPacket('uav-1', 1) })
      expect((await client.next())?.data).toEqual(klvPacket('uav-1', 2))
    }
    for (const client of clients) await client.leave()
    api.deps.klvUpstreams.close()
    await upstreamsReach(api, 0)
  })

  it('end when the pipeline is deleted', async () => {
    const api = await openApi(playing)
    const client = await follow(api)
    await api.send('PUT', '/svc/pipeline/uav-1/stop')
    expect((await api.send('DELETE', '/svc/pipeline/uav-1')).status).toBe(204)
    const last = { id: expect.any(String), event: 'pipeline_not_found', data: { pipeline_id: 'uav-1' } }
    expect(await client.rest()).toEqual([{ retry: '2000' }, last])
    api.deps.klvUpstreams.close()
  })

  it('are not in the stream of all events', async () => {
    const api = await openApi(playing)
    const everything = followSse(await api.send('GET', '/svc/events'))
    const client = await follow(api)
    await upstreamsReach(api, 1)
    api.klv.send(klvPacket('uav-1', 1))
    await client.nextOf('klv')
    await api.send('PATCH', '/svc/pipeline/uav-1', { geolocation: { latitude: 3, longitude: 4 } })
    for (let block = await everything.next(); block?.data?.geolocation?.latitude !== 3; block = await everything.next()) {
      expect(block?.event).not.toBe('klv')
    }
    await Promise.all([everything.leave(), client.leave()])
    api.deps.klvUpstreams.close()
  })
})
