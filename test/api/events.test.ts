import { describe, expect, it } from 'vitest'
import type { EngineEvent } from '../../lib/engine/messages.ts'
import { createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { followSse, type SseClient } from '../helpers/api/sse-client.ts'
import { testRows } from './api-rows.ts'

const STREAM = '/svc/pipeline/cam-1/status/events'
const given = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))

const follow = async (api: TestApi, path = STREAM, headers: Record<string, string> = {}): Promise<SseClient> => {
  const response = await api.send('GET', path, undefined, headers)
  expect({ status: response.status, type: response.headers.get('content-type') }).toEqual({ status: 200, type: 'text/event-stream' })
  return followSse(response)
}

/** What the engine tells of a pipeline right now. */
const told = async (api: TestApi, id: string): Promise<EngineEvent> => ({ type: 'pipeline', view: await api.engine.view(id) })

describe('the events of a pipeline', () => {
  testRows([
    { name: 'are 404 for an unknown id, without a stream', request: ['GET', STREAM], status: 404, contains: ['NOT_FOUND'] },
    { name: 'are 400 for an id outside the pattern', request: ['GET', '/svc/pipeline/a.b/status/events'], status: 400 },
    { name: 'answer HEAD with the header fields and leave no client', given, request: ['HEAD', STREAM], status: 200, after: nobodyFollows },
    { name: 'know GET only', given, request: ['POST', STREAM, {}], status: 405, headers: { allow: 'GET, HEAD' } },
    {
      name: 'need credentials once a password is set',
      given: async (api) => {
        await given(api)
        await api.send('PUT', '/svc/auth/password', { password: 'correct horse battery' })
      },
      request: ['GET', STREAM],
      status: 401,
    },
  ])

  it('begin with the current status, the same as a read', async () => {
    await using api = await createTestApi()
    await given(api)
    const client = await follow(api)
    expect(await client.next()).toEqual({ retry: '2000' })
    const first = await client.next()
    expect(first?.event).toBe('pipeline_status')
    expect(first?.data).toEqual(await (await api.send('GET', '/svc/pipeline/cam-1')).json())
    await client.leave()
    nobodyFollows(api)
  })

  it('report play, a new geolocation, a new configuration and the deletion, then the stream ends', async () => {
    await using api = await createTestApi()
    await given(api)
    await api.given(simple('other', { on_demand: true }))
    const client = await follow(api)
    await client.nextOf('pipeline_status')

    await api.send('PUT', '/svc/pipeline/cam-1/play')
    api.deps.events.push(await told(api, 'other'))
    api.deps.events.push(await told(api, 'cam-1'))
    expect(await client.next()).toMatchObject({ event: 'pipeline_status', data: { id: 'cam-1', state: 'playing' } })

    await api.send('PATCH', '/svc/pipeline/cam-1', { geolocation: { latitude: 60, longitude: 24 } })
    expect(await client.next()).toMatchObject({ event: 'pipeline_status', data: { geolocation: { latitude: 60, longitude: 24 } } })

    api.deps.events.push({
      type: 'pipeline_error',
      id: 'cam-1',
      code: 'ENGINE_ERROR',
      message: 'The source is gone.',
      cause: 'Nothing listens at its address.',
      reason: 'unreachable',
    })
    expect(await client.next()).toMatchObject({
      event: 'pipeline_error',
      data: {
        pipeline_id: 'cam-1',
        message: 'The source is gone.',
        code: 'ENGINE_ERROR',
        cause: 'Nothing listens at its address.',
        reason: 'unreachable',
      },
    })

    await api.send('PUT', '/svc/pipeline/cam-1/stop')
    api.deps.events.push(await told(api, 'cam-1'))
    expect(await client.next()).toMatchObject({ event: 'pipeline_status', data: { state: 'ready' } })
    await api.send('PUT', '/svc/pipeline/cam-1', simple('cam-1', { on_demand: true, source: { uri: 'rtsp://10.0.0.6/new' } }))
    expect(await client.next()).toMatchObject({ event: 'pipeline_status', data: { source: { uri: 'rtsp://10.0.0.6/new' } } })

    await api.send('DELETE', '/svc/pipeline/cam-1')
    expect(await client.rest()).toMatchObject([{ event: 'pipeline_not_found', data: { pipeline_id: 'cam-1' } }])
    nobodyFollows(api)
  })

  it('replay missed events after Last-Event-ID', async () => {
    await using api = await createTestApi()
    await given(api)
    const client = await follow(api)
    const { id = '' } = await client.nextOf('pipeline_status')
    await client.leave()
    for (const latitude of [1, 2]) await api.send('PATCH', '/svc/pipeline/cam-1', { geolocation: { latitude, longitude: 0 } })
    const again = await follow(api, STREAM, { 'last-event-id': id })
    const places = []
    for (let count = 0; count < 3; count += 1) places.push((await again.nextOf('pipeline_status')).data.geolocation.latitude)
    // The two that were missed, and the present one.
    expect(places).toEqual([1, 2, 2])
    await again.leave()
  })

  it('mask credentials', async () => {
    await using api = await createTestApi()
    await api.given(simple('cam-1', { on_demand: true, source: { uri: 'rtsp://bob:hunter2@10.0.0.5/stream?token=hunter2' } }))
    const client = await follow(api)
    expect(JSON.stringify(await client.nextOf('pipeline_status'))).not.toMatch(/bob|hunter2/)
    await client.leave()
  })

  it('continue while the engine is gone, and report the current status when it is back', async () => {
    await using api = await createTestApi()
    await given(api)
    await api.send('PUT', '/svc/pipeline/cam-1/play')
    await api.deps.events.resync(await api.engine.list())
    const before = await follow(api)
    expect((await before.nextOf('pipeline_status')).data.state).toBe('playing')
    api.engine.reachable = false
    const during = await follow(api)
    expect(await during.next()).toEqual({ retry: '2000' })
    api.engine.restart()
    await api.deps.events.resync([])
    expect((await before.nextOf('pipeline_status')).data.state).toBe('ready')
    expect((await during.nextOf('pipeline_status')).data.state).toBe('ready')
    await Promise.all([before.leave(), during.leave()])
  })

  it('end when the service stops', async () => {
    await using api = await createTestApi()
    await given(api)
    const client = await follow(api)
    await client.nextOf('pipeline_status')
    api.deps.events.feed.close()
    expect(await client.rest()).toEqual([])
  })
})

describe('the events of all pipelines', () => {
  it('begin with the status of each pipeline and continue with the events of all', async () => {
    await using api = await createTestApi()
    await given(api)
    await api.given(simple('cam-2', { on_demand: true }))
    const client = await follow(api, '/svc/events')
    expect((await client.nextOf('pipeline_status')).data.id).toBe('cam-1')
    expect((await client.nextOf('pipeline_status')).data.id).toBe('cam-2')
    await api.given(simple('cam-3', { on_demand: true }))
    expect((await client.nextOf('pipeline_status')).data.id).toBe('cam-3')
    await api.send('DELETE', '/svc/pipeline/cam-1')
    expect((await client.nextOf('pipeline_not_found')).data).toEqual({ pipeline_id: 'cam-1' })
    await api.send('PATCH', '/svc/pipeline/cam-2', { geolocation: { latitude: 1, longitude: 2 } })
    expect((await client.nextOf('pipeline_status')).data).toMatchObject({ id: 'cam-2', geolocation: { latitude: 1 } })
    await client.leave()
    nobodyFollows(api)
  })

  it('resume after Last-Event-ID with the missed events only', async () => {
    await using api = await createTestApi()
    await given(api)
    const client = await follow(api, '/svc/events')
    const { id = '' } = await client.nextOf('pipeline_status')
    await client.leave()
    await api.given(simple('cam-2', { on_demand: true }))
    const again = await follow(api, '/svc/events', { 'last-event-id': id })
    expect((await again.nextOf('pipeline_status')).data.id).toBe('cam-2')
    await api.given(simple('cam-3', { on_demand: true }))
    expect((await again.nextOf('pipeline_status')).data.id).toBe('cam-3')
    await again.leave()
  })
})

function nobodyFollows(api: TestApi): void {
  expect(api.deps.events.feed.subscriberCount()).toBe(0)
}
