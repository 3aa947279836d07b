import { describe, expect, it } from 'vitest'
import { engineUnavailable } from '../../lib/engine/caller.ts'
import { ApiError } from '../../lib/errors.ts'
import { createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { fetchHost, nodeHost, workerHost } from '../helpers/api/hosts.ts'
import { followSse, type SseClient } from '../helpers/api/sse-client.ts'
import { fakeCamera } from '../helpers/fakes/cameras.ts'
import { until } from '../helpers/until.ts'

const follow = async (api: TestApi, path = '/svc/cameras/events', headers: Record<string, string> = {}): Promise<SseClient> => {
  const response = await api.send('GET', path, undefined, headers)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const client = followSse(response)
  expect(await client.next()).toEqual({ retry: '2000' })
  return client
}

const NO_MONITOR = new ApiError('SERVICE_UNAVAILABLE', 'gst-device-monitor-1.0 is not installed. Install it.', {
  reason: 'monitor_missing',
})

describe.each([fetchHost, nodeHost, workerHost])('the cameras on $name', (host) => {
  it('are an empty list on a host without cameras, otherwise one record each', async () => {
    await using api = await createTestApi(host)
    expect(await (await api.send('GET', '/svc/cameras')).json()).toEqual([])
    api.cameras.plug(fakeCamera(0))
    const response = await api.send('GET', '/svc/cameras')
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual([
      {
        device_path: '/dev/video0',
        device_paths: ['/dev/video0'],
        device_name: 'Mock Camera',
        driver: 'uvcvideo',
        bus_info: 'usb-0',
        serial: null,
        formats: 1,
      },
    ])
  })

  it.each([
    ['?path=/dev/video0', 200, '"frame_rates":[30,15]'],
    ['?path=%2Fdev%2Fvideo0', 200, '"encoding":"mjpeg"'],
    ['?path=/dev/video9', 404, '"code":"NOT_FOUND"'],
    ['?path=/etc/passwd', 404, '"code":"NOT_FOUND"'],
    ['', 400, '"path":"path","message":"This field is required"'],
    ['?path=', 400, '"code":"VALIDATION_ERROR"'],
    ['?path=/dev/video0&path=/dev/video1', 400, 'Give this parameter once'],
    [`?path=/${'x'.repeat(600)}`, 400, '"code":"VALIDATION_ERROR"'],
  ])('are told what they can do by %s: %i', async (query, status, contains) => {
    await using api = await createTestApi(host)
    api.cameras.plug(fakeCamera(0))
    const response = await api.send('GET', `/svc/camera${query}`)
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(contains)])
  })

  it.each(['/svc/cameras', '/svc/camera?path=/dev/video0', '/svc/cameras/events'])(
    'are 503 at %s when the host has no camera discovery',
    async (path) => {
      await using api = await createTestApi(host)
      api.cameras.fault = NO_MONITOR
      const response = await api.send('GET', path)
      expect(response.status).toBe(503)
      expect(await response.json()).toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: expect.stringContaining('Install'),
        details: { reason: 'monitor_missing' },
      })
    },
  )

  it('are reported when they are added and removed', async () => {
    await using api = await createTestApi(host)
    const client = await follow(api)
    api.cameras.plug(fakeCamera(0))
    expect(await client.nextOf('camera_added')).toMatchObject({ data: { device_path: '/dev/video0', formats: 1 } })
    api.cameras.unplug('/dev/video0')
    expect(await client.nextOf('camera_removed')).toMatchObject({ data: { device_path: '/dev/video0' } })
    await client.leave()
  })
})

describe('a host without camera discovery', () => {
  it('sends camera events as soon as discovery works, and events of pipelines at /svc/events before that', async () => {
    await using api = await createTestApi()
    api.cameras.fault = NO_MONITOR
    const everything = await follow(api, '/svc/events')
    await api.given(simple('cam-1', { on_demand: true }))
    expect((await everything.nextOf('pipeline_status')).data.id).toBe('cam-1')

    api.cameras.fault = undefined
    const cameras = await follow(api)
    api.cameras.plug(fakeCamera(0))
    expect((await cameras.nextOf('camera_added')).data.device_path).toBe('/dev/video0')
    expect((await everything.nextOf('camera_added')).data.device_path).toBe('/dev/video0')
  })
})

describe('the events of cameras', () => {
  it('wait for an engine that is being started, as the list of cameras does', async () => {
    await using api = await createTestApi()
    const { list } = api.cameras
    api.cameras.fault = engineUnavailable(new Error('no engine is there'))
    const listOfNextEngine = async () => {
      api.cameras.fault = undefined
      return list()
    }
    Object.assign(api.cameras, { list: listOfNextEngine })
    const client = await follow(api)
    api.cameras.plug(fakeCamera(0))
    expect((await client.nextOf('camera_added')).data.device_path).toBe('/dev/video0')
  })

  it('are requested from the engine once, for the first client', async () => {
    await using api = await createTestApi()
    expect(api.cameras.following()).toBe(0)
    for (const path of ['/svc/cameras/events', '/svc/events', '/svc/cameras/events']) await follow(api, path)
    expect(api.cameras.following()).toBe(1)
  })

  it('report added and removed cameras from then on, with ids, and replay missed events', async () => {
    await using api = await createTestApi()
    api.cameras.plug(fakeCamera(0))
    const first = await follow(api)
    api.cameras.plug(fakeCamera(1, 'Second'))
    const added = await first.next()
    expect(added).toEqual({
      id: expect.stringMatching(/-\d+$/),
      event: 'camera_added',
      data: { device_path: '/dev/video1', device_name: 'Second', formats: 1 },
    })
    await first.leave()
    api.cameras.unplug('/dev/video1')
    await until(
      () => api.deps.events.feed.missedSince(added?.id ?? null, () => true),
      ({ length }) => length > 0,
    )
    const again = await follow(api, undefined, { 'last-event-id': added?.id ?? '' })
    expect(await again.next()).toMatchObject({ event: 'camera_removed', data: { device_path: '/dev/video1' } })
  })

  it('report once what changed while the engine was gone', async () => {
    await using api = await createTestApi()
    api.cameras.plug(fakeCamera(0))
    api.cameras.plug(fakeCamera(1))
    const client = await follow(api)
    api.cameras.loseSubscribers(() => {
      api.cameras.unplug('/dev/video0')
      api.cameras.plug(fakeCamera(1, 'Another'))
      api.cameras.plug(fakeCamera(2))
    })
    const told = [await client.next(), await client.next(), await client.next(), await client.next()]
    expect(told.map((block) => [block?.event, block?.data.device_path])).toEqual([
      ['camera_removed', '/dev/video0'],
      ['camera_removed', '/dev/video1'],
      ['camera_added', '/dev/video1'],
      ['camera_added', '/dev/video2'],
    ])
    api.cameras.plug(fakeCamera(2))
    api.cameras.unplug('/dev/video9')
    api.cameras.unplug('/dev/video2')
    expect(await client.next()).toMatchObject({ event: 'camera_removed', data: { device_path: '/dev/video2' } })
  })

  it('end with the service, which closes its stream from the engine', async () => {
    await using api = await createTestApi()
    const client = await follow(api)
    api.deps.cameraWatch.close()
    api.deps.events.feed.close()
    expect(await client.rest()).toEqual([])
    await until(api.cameras.following, (count) => count === 0)
  })
})
