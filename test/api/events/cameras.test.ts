import { describe, expect, it } from 'vitest'
import { engineUnavailable } from '../../../lib/engine/caller.ts'
import { ApiError } from '../../../lib/errors.ts'
import { createTestApi, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { ALL_HOSTS, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'
import { followSse, type SseClient } from '../../helpers/api/sse-client.ts'
import { fakeCamera } from '../../helpers/fakes/cameras.ts'

const follow = async (api: TestApi, path = '/svc/cameras/events', headers: Record<string, string> = {}): Promise<SseClient> => {
  const response = await api.send('GET', path, undefined, headers)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const client = followSse(response)
  expect(await client.next()).toEqual({ retry: '2000' })
  return client
}
const device = (device_path: string) => ({ data: { device_path } })

describe('the cameras', () => {
  const given = (api: TestApi) => api.cameras.plug(fakeCamera(0))
  const missing = (api: TestApi) => {
    const reason = { reason: 'monitor_missing' }
    api.cameras.fault = new ApiError('SERVICE_UNAVAILABLE', 'gst-device-monitor-1.0 is not installed. Install it.', reason)
  }
  testRowsOnAllHosts([
    row('are an empty list on a host without cameras', 'GET /svc/cameras', 200, '[]'),
    row('have one record each', 'GET /svc/cameras', 200, {
      given,
      after: (_api, _response, text) => expect(JSON.parse(text)).toEqual([{ ...fakeCamera(0), formats: 1 }]),
    }),
    row('have capabilities', 'GET /svc/camera?path=%2Fdev%2Fvideo0', 200, ['"encoding":"mjpeg"', '"frame_rates":[30,15]'], { given }),
    row('are 404 when they are not attached', 'GET /svc/camera?path=/dev/video9', 404, '"code":"NOT_FOUND"', { given }),
    ...['/svc/cameras', '/svc/camera?path=/dev/video0', '/svc/cameras/events'].map((path) =>
      row(`are 503 at ${path} when the host cannot list them`, `GET ${path}`, 503, ['Install', '"monitor_missing"'], { given: missing }),
    ),
  ])
  testRows([
    row('are 404 for another file', 'GET /svc/camera?path=/etc/passwd', 404, '"code":"NOT_FOUND"', { given }),
    row('need a path', 'GET /svc/camera', 400, '"path":"path","message":"This field is required"'),
    row('take one path', 'GET /svc/camera?path=/dev/video0&path=/dev/video1', 400, 'Give this parameter once'),
    row('take no path of any length', `GET /svc/camera?path=/${'x'.repeat(600)}`, 400, 'VALIDATION_ERROR'),
  ])

  const found = { address: 'http://10.0.0.5/onvif/device_service', name: 'Gate', hardware: null, location: null }
  const inNetwork = (api: TestApi) => {
    api.cameras.found = [found]
  }
  const STREAMS = 'POST /svc/cameras/streams'
  const asked = (address: string, user = 'viewer') => [STREAMS, { address, user, password: 'hidden-one' }] as const
  testRowsOnAllHosts([
    row('are found in the network', 'POST /svc/cameras/search', 200, JSON.stringify([found]), { given: inNetwork }),
    row('have streams', asked('10.0.0.5'), 200, '"manufacturer":"Example"'),
    row('refuse another user, and the password is not shown', asked('http://10.0.0.5/', 'other'), 500, '"reason":"unauthorized"', {
      lacks: ['hidden-one'],
    }),
  ])
  testRows([
    row('are sought for 10 s at most', ['POST /svc/cameras/search', { seconds: 11 }], 400, '"path":"seconds"'),
    ...['', 'ftp://10.0.0.5/', 'http://user:secret@10.0.0.5/', 'a b', 'http://'].map((address) =>
      row(`are not asked at "${address}"`, asked(address), 400, '"path":"address"', { lacks: ['secret', 'hidden-one'] }),
    ),
  ])

  it.each(ALL_HOSTS)('are reported on $name when they are added and removed', async (host) => {
    await using api = await createTestApi(host)
    const client = await follow(api)
    api.cameras.plug(fakeCamera(0))
    expect(await client.nextOf('camera_added')).toMatchObject({ data: { device_path: '/dev/video0', formats: 1 } })
    api.cameras.unplug('/dev/video0')
    expect(await client.nextOf('camera_removed')).toMatchObject(device('/dev/video0'))
    await client.leave()
  })

  it('are reported as soon as discovery works, and pipelines before that', async () => {
    const api = await openApi()
    missing(api)
    const everything = await follow(api, '/svc/events')
    await api.given(simple('cam-1', { on_demand: true }))
    expect((await everything.nextOf('pipeline_status')).data.id).toBe('cam-1')
    api.cameras.fault = undefined
    const cameras = await follow(api)
    api.cameras.plug(fakeCamera(0))
    for (const client of [cameras, everything]) expect(await client.nextOf('camera_added')).toMatchObject(device('/dev/video0'))
  })
})

describe('the events of cameras', () => {
  it('wait for an engine that is being started, as the list of cameras does', async () => {
    const api = await openApi()
    const { list } = api.cameras
    api.cameras.fault = engineUnavailable(new Error('no engine is there'))
    Object.assign(api.cameras, { list: () => Object.assign(api.cameras, { fault: undefined, list }).list() })
    const client = await follow(api)
    api.cameras.plug(fakeCamera(0))
    expect(await client.nextOf('camera_added')).toMatchObject(device('/dev/video0'))
  })

  it('are requested from the engine once, for the first client', async () => {
    const api = await openApi()
    expect(api.cameras.following()).toBe(0)
    for (const path of ['/svc/cameras/events', '/svc/events', '/svc/cameras/events']) await follow(api, path)
    expect(api.cameras.following()).toBe(1)
  })

  it('report what changes from then on, with ids, and replay missed events', async () => {
    const api = await openApi()
    api.cameras.plug(fakeCamera(0))
    const first = await follow(api)
    api.cameras.plug(fakeCamera(1, 'Second'))
    const added = await first.next()
    const data = { device_path: '/dev/video1', device_name: 'Second', formats: 1 }
    expect(added).toEqual({ id: expect.stringMatching(/-\d+$/), event: 'camera_added', data })
    await first.leave()
    api.cameras.unplug('/dev/video1')
    const { id = '' } = added ?? {}
    await expect.poll(() => api.deps.events.feed.missedSince(id, () => true)).toHaveLength(1)
    const again = await follow(api, undefined, { 'last-event-id': id })
    expect(await again.next()).toMatchObject({ event: 'camera_removed', ...device('/dev/video1') })
  })

  it('report once what changed while the engine was gone', async () => {
    const api = await openApi()
    for (const number of [0, 1]) api.cameras.plug(fakeCamera(number))
    const client = await follow(api)
    api.cameras.loseSubscribers(() => {
      api.cameras.unplug('/dev/video0')
      api.cameras.plug(fakeCamera(1, 'Another'))
      api.cameras.plug(fakeCamera(2))
    })
    for (const change of ['removed 0', 'removed 1', 'added 1', 'added 2']) {
      const [what, number] = change.split(' ')
      expect(await client.next()).toMatchObject({ event: `camera_${what}`, ...device(`/dev/video${number}`) })
    }
    api.cameras.plug(fakeCamera(2))
    api.cameras.unplug('/dev/video9')
    api.cameras.unplug('/dev/video2')
    expect(await client.next()).toMatchObject({ event: 'camera_removed', ...device('/dev/video2') })
  })

  it('end with the service, which closes its stream from the engine', async () => {
    const api = await openApi()
    const client = await follow(api)
    api.deps.cameraWatch.close()
    api.deps.events.feed.close()
    expect(await client.rest()).toEqual([])
    await expect.poll(api.cameras.following).toBe(0)
  })
})
