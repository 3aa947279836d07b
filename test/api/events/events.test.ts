import { describe, expect, it, vi } from 'vitest'
import type { EngineEvent } from '../../../lib/engine/messages.ts'
import { openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { passwordSet, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'
import { followSse, type SseClient } from '../../helpers/api/sse-client.ts'
import { klvPacket } from '../../helpers/fakes/klv.ts'

const STREAM = '/svc/pipeline/cam-1/status/events'
const given = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const send = (api: TestApi, line: string, body?: unknown) => api.send(...(line.split(' ') as [string, string]), body)
const locate = (api: TestApi, id: string, latitude: number) =>
  api.send('PATCH', `/svc/pipeline/${id}`, { geolocation: { latitude, longitude: 0 } })

const follow = async (api: TestApi, path = STREAM, headers: Record<string, string> = {}): Promise<SseClient> => {
  const response = await api.send('GET', path, undefined, headers)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  return followSse(response)
}

/** What the engine reports of a pipeline right now. */
const statusOf = async (api: TestApi, id: string): Promise<EngineEvent> => ({ type: 'pipeline', view: await api.engine.view(id) })
const expectNoSubscriber = (api: TestApi): void => expect(api.deps.events.feed.subscriberCount()).toBe(0)

const FAULT = { code: 'ENGINE_ERROR', message: 'The source is gone.', cause: 'Nothing listens there.', reason: 'unreachable' } as const

describe('the events of a pipeline', () => {
  testRowsOnAllHosts([
    row('are 404 for an unknown id, without a stream', `GET ${STREAM}`, 404, 'NOT_FOUND'),
    row('answer HEAD with the header fields and leave no client', `HEAD ${STREAM}`, 200, { given, after: expectNoSubscriber }),
    row('need credentials once a password is set', `GET ${STREAM}`, 401, { given: passwordSet(given) }),
  ])
  testRows([row('are 400 for an id outside the pattern', 'GET /svc/pipeline/a.b/status/events', 400)])

  it('begin with the current status, the same as a read, with credentials masked', async () => {
    const api = await openApi((api) =>
      api.given(simple('cam-1', { on_demand: true, source: { uri: 'rtsp://bob:hunter2@10.0.0.5/stream?token=hunter2' } })),
    )
    const client = await follow(api)
    expect(await client.next()).toEqual({ retry: '2000' })
    const first = await client.next()
    const data = await api.read('/svc/pipeline/cam-1')
    expect(first).toMatchObject({ event: 'pipeline_status', data })
    expect(JSON.stringify(first)).not.toMatch(/bob|hunter2/)
    await client.leave()
    expectNoSubscriber(api)
  })

  it('report play, a new geolocation, a fault, a new configuration and the deletion, then the stream ends', async () => {
    const api = await openApi(given)
    await api.given(simple('other', { on_demand: true }))
    const client = await follow(api)
    await client.nextOf('pipeline_status')
    const expectStatus = async (data: object) => expect(await client.next()).toMatchObject({ event: 'pipeline_status', data })

    await send(api, 'PUT /svc/pipeline/cam-1/play')
    api.deps.events.push(await statusOf(api, 'other'))
    api.deps.events.push(await statusOf(api, 'cam-1'))
    await expectStatus({ id: 'cam-1', state: 'playing' })
    await locate(api, 'cam-1', 60)
    await expectStatus({ geolocation: { latitude: 60 } })
    api.deps.events.push({ type: 'pipeline_error', id: 'cam-1', ...FAULT })
    expect(await client.next()).toMatchObject({ event: 'pipeline_error', data: { pipeline_id: 'cam-1', ...FAULT } })
    await send(api, 'PUT /svc/pipeline/cam-1/stop')
    api.deps.events.push(await statusOf(api, 'cam-1'))
    await expectStatus({ state: 'ready' })
    await send(api, 'PUT /svc/pipeline/cam-1', simple('cam-1', { on_demand: true, source: { uri: 'rtsp://10.0.0.6/new' } }))
    await expectStatus({ source: { uri: 'rtsp://10.0.0.6/new' } })
    await send(api, 'DELETE /svc/pipeline/cam-1')
    expect(await client.rest()).toMatchObject([{ event: 'pipeline_not_found', data: { pipeline_id: 'cam-1' } }])
    expectNoSubscriber(api)
  })

  it('replay missed events after Last-Event-ID, then the present status', async () => {
    const api = await openApi(given)
    const client = await follow(api)
    const { id = '' } = await client.nextOf('pipeline_status')
    await client.leave()
    for (const latitude of [1, 2]) await locate(api, 'cam-1', latitude)
    const again = await follow(api, STREAM, { 'last-event-id': id })
    for (const latitude of [1, 2, 2]) expect((await again.nextOf('pipeline_status')).data).toMatchObject({ geolocation: { latitude } })
    await again.leave()
  })

  it('do not report a geolocation from the engine, which every answer has and which does not change updated_at', async () => {
    const api = await openApi()
    const { updated_at } = await api.given(simple('uav-1'))
    const geolocation = { latitude: 60, longitude: 2, altitude: 3, heading: null }
    const events: unknown[] = []
    api.deps.events.feed.subscribe({ onEvent: (event) => events.push(event), onEnd: () => {} })
    api.deps.geolocations.push({ type: 'geolocation', id: 'uav-1', geolocation })
    const read = async () => (await api.send('GET', '/svc/pipeline/uav-1')).json()
    await vi.waitFor(async () => expect(await read()).toMatchObject({ geolocation, updated_at }))
    expect((await api.deps.events.status('uav-1'))()).toMatchObject([{ data: { geolocation } }])
    expect(events).toEqual([])
    api.deps.geolocations.close()
  })
})

describe('the events of all pipelines', () => {
  it('begin with the status of each pipeline, continue with the events of all, resume with the missed ones only, and end with the service', async () => {
    const api = await openApi(given)
    await api.given(simple('cam-2', { on_demand: true }))
    const client = await follow(api, '/svc/events')
    const expectStatus = async (data: object) => expect((await client.nextOf('pipeline_status')).data).toMatchObject(data)
    await expectStatus({ id: 'cam-1' })
    await expectStatus({ id: 'cam-2' })
    await api.given(simple('cam-3', { on_demand: true }))
    await expectStatus({ id: 'cam-3' })
    await send(api, 'DELETE /svc/pipeline/cam-1')
    expect((await client.nextOf('pipeline_not_found')).data).toEqual({ pipeline_id: 'cam-1' })
    await locate(api, 'cam-2', 1)
    const { id = '', data } = await client.nextOf('pipeline_status')
    expect(data).toMatchObject({ id: 'cam-2', geolocation: { latitude: 1 } })
    await client.leave()
    expectNoSubscriber(api)
    await locate(api, 'cam-3', 2)
    const again = await follow(api, '/svc/events', { 'last-event-id': id })
    expect((await again.nextOf('pipeline_status')).data).toMatchObject({ id: 'cam-3', geolocation: { latitude: 2 } })
    api.deps.events.feed.close()
    expect(await again.rest()).toEqual([])
  })
})

describe('the data of every event', () => {
  it('are as the API document describes them', async () => {
    const api = await openApi(given)
    const paths = ['/svc/events', '/svc/cameras/events', STREAM, '/svc/pipeline/cam-1/klv/events']
    const clients = await Promise.all(paths.map((path) => follow(api, path)))
    await locate(api, 'cam-1', 1)
    api.deps.events.push({ type: 'pipeline_error', id: 'cam-1', ...FAULT })
    api.deps.events.push({ type: 'camera_added', device_path: '/dev/video0', device_name: 'Webcam', formats: 2 })
    api.deps.events.push({ type: 'camera_removed', device_path: '/dev/video0' })
    api.deps.events.push({ type: 'klv', id: 'cam-1', packet: klvPacket('cam-1', 60) })
    await send(api, 'DELETE /svc/pipeline/cam-1')
    const seen = new Set<string>()
    for (const [at, client] of clients.entries()) {
      const last = at === 1 ? 'camera_removed' : 'pipeline_not_found'
      for (let event: string | undefined; event !== last; ) {
        const block = await client.next()
        event = block?.event
        if (event === undefined) continue
        seen.add(event)
        api.answers.checkEvent(`${api.origin}${paths[at]}`, event, block?.data)
      }
      await client.leave()
    }
    expect([...seen].sort()).toEqual(['camera_added', 'camera_removed', 'klv', 'pipeline_error', 'pipeline_not_found', 'pipeline_status'])
  })
})
