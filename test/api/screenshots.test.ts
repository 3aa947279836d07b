import { describe, expect, it } from 'vitest'
import { createPipelineRepository } from '../../db/pipelines.ts'
import { reconcile } from '../../lib/pipelines/reconcile.ts'
import { advanced, createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { testRows } from './api-rows.ts'

const PLACE = { latitude: 60.5, longitude: -128.25, altitude: 12.5, heading: null }
const playing = (api: TestApi) => api.given(simple('cam-1', { geolocation: PLACE }))
const running = async (api: TestApi) => {
  await playing(api)
  await api.send(...start({ interval_seconds: 3, quality: 50 }))
}
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const start = (body?: unknown, id = 'cam-1') => ['PUT', `/svc/pipeline/${id}/screenshots/start`, body] as const
const stop = (id = 'cam-1') => ['PUT', `/svc/pipeline/${id}/screenshots/stop`] as const
const snapshot = (query = '', id = 'cam-1') => ['GET', `/svc/pipeline/${id}/snapshot${query}`] as const
const wishOf = async (api: TestApi) => (await api.deps.pipelines.find('cam-1'))?.screenshots ?? null

describe('starting screenshots', () => {
  testRows([
    {
      name: 'answers the pipeline with the schedule, and stores the schedule',
      given: playing,
      request: start({ interval_seconds: 3, quality: 50 }),
      status: 200,
      contains: ['"id":"cam-1"', '"screenshots":{"state":"playing","interval_seconds":3,"quality":50}'],
      after: async (api) => {
        expect(await wishOf(api)).toEqual({ interval_seconds: 3, quality: 50 })
        expect(api.screenshots.geolocations.get('cam-1')).toEqual(PLACE)
      },
    },
    {
      name: 'uses the defaults without a body',
      given: playing,
      request: start(),
      status: 200,
      contains: ['"interval_seconds":10,"quality":85'],
    },
    {
      name: 'uses the defaults of the settings',
      given: async (api) => {
        await playing(api)
        await api.send('PUT', '/svc/settings', { screenshots: { interval_seconds: 33 } })
      },
      request: start({ quality: 1 }),
      status: 200,
      contains: ['"interval_seconds":33,"quality":1'],
    },
    {
      name: 'changes the schedule of running screenshots',
      given: running,
      request: start({ interval_seconds: 1.5 }),
      status: 200,
      contains: ['"interval_seconds":1.5,"quality":85'],
    },
    {
      name: 'is refused while the pipeline does not play',
      given: ready,
      request: start(),
      status: 409,
      contains: ['"code":"CONFLICT"', '"reason":"not_playing"'],
    },
    {
      name: 'is refused when the engine does not know the pipeline',
      given: async (api) => {
        await playing(api)
        api.engine.restart()
      },
      request: start(),
      status: 409,
      contains: ['"reason":"not_playing"'],
      after: async (api) => expect(await wishOf(api)).toBeNull(),
    },
    { name: 'answers 404 for an unknown id', request: start(), status: 404, contains: ['NOT_FOUND'] },
    { name: 'answers 400 for an id outside the pattern', request: start({}, 'cam.1'), status: 400 },
    ...[
      { interval_seconds: 0.99 },
      { interval_seconds: 86401 },
      { interval_seconds: '3' },
      { interval_seconds: null },
      { quality: 0 },
      { quality: 101 },
      { quality: 50.5 },
      { width: 3 },
    ].map((body) => ({
      name: `refuses ${JSON.stringify(body)}`,
      given: playing,
      request: start(body),
      status: 400,
      contains: ['VALIDATION_ERROR', `"path":"${Object.keys(body)[0]}"`],
    })),
    {
      name: 'answers 503 while the engine is gone',
      given: async (api) => {
        await playing(api)
        api.engine.reachable = false
      },
      request: start(),
      status: 503,
      headers: { 'retry-after': '1' },
    },
  ])
})

describe('stopping screenshots', () => {
  const stopped = '"screenshots":{"state":"stopped"'
  testRows([
    {
      name: 'stops them and deletes the schedule',
      given: running,
      request: stop(),
      status: 200,
      contains: [stopped],
      after: async (api) => expect(await wishOf(api)).toBeNull(),
    },
    { name: 'changes nothing when there are none', given: ready, request: stop(), status: 200, contains: [stopped] },
    {
      name: 'deletes the schedule of a pipeline that the engine does not know',
      given: async (api) => {
        await running(api)
        api.engine.restart()
      },
      request: stop(),
      status: 200,
      contains: [stopped, '"state":"ready"'],
      after: async (api) => expect(await wishOf(api)).toBeNull(),
    },
    { name: 'answers 404 for an unknown id', request: stop(), status: 404 },
  ])
})

describe('a snapshot', () => {
  testRows([
    {
      name: 'is a JPEG with its age, without other header fields of the engine',
      given: playing,
      request: snapshot(),
      status: 200,
      headers: {
        'content-type': 'image/jpeg',
        'content-length': '4',
        etag: '"85-0"',
        age: '1',
        'x-age-ms': '1499',
        'x-created-at': '2026-11-20T10:00:00.000Z',
        'cache-control': 'private, no-cache',
        'x-secret': null,
      },
    },
    {
      name: 'passes quality and width to the engine',
      given: playing,
      request: snapshot('?quality=5&width=640'),
      status: 200,
      headers: { etag: '"5-640"' },
    },
    {
      name: 'is not sent again to a client that has it',
      inProcess: true,
      given: playing,
      request: [...snapshot(), undefined, { 'if-none-match': '"x", W/"85-0"' }],
      status: 304,
      headers: { etag: '"85-0"', 'content-length': null },
      after: (_api, _response, text) => expect(text).toBe(''),
    },
    {
      name: 'answers HEAD without a picture',
      given: playing,
      request: ['HEAD', '/svc/pipeline/cam-1/snapshot'],
      status: 200,
      headers: { 'content-length': '4' },
    },
    {
      name: 'is refused while the pipeline does not play',
      given: ready,
      request: snapshot(),
      status: 409,
      contains: ['"reason":"not_playing"'],
    },
    { name: 'answers 404 for an unknown id', request: snapshot(), status: 404 },
    ...['quality=0', 'quality=101', 'quality=x', 'quality=', 'width=15', 'width=8193', 'width=-1', 'width=1e3', 'quality=1&quality=2'].map(
      (query) => ({
        name: `refuses ?${query}`,
        given: playing,
        request: snapshot(`?${query}`),
        status: 400,
        contains: ['VALIDATION_ERROR'],
      }),
    ),
  ])
})

describe('the schedule of screenshots', () => {
  it('is restored after the engine was replaced', async () => {
    await using api = await createTestApi()
    await running(api)
    api.screenshots.schedules.clear()
    api.engine.restart()
    await reconcile(api.deps, 'engine_restarted')
    expect(api.screenshots.schedules.get('cam-1')).toEqual({ interval_seconds: 3, quality: 50 })
    expect(api.screenshots.geolocations.get('cam-1')).toEqual(PLACE)
  })

  it('ends with the pipeline', async () => {
    await using api = await createTestApi()
    await running(api)
    await api.send('PUT', '/svc/pipeline/cam-1/stop')
    expect(await wishOf(api)).toBeNull()
    await api.send('PUT', '/svc/pipeline/cam-1/play')
    api.screenshots.schedules.clear()
    api.engine.restart()
    await reconcile(api.deps, 'engine_restarted')
    expect(api.screenshots.schedules.size).toBe(0)
  })

  it('is deleted when an on-demand pipeline does not start with the service', async () => {
    await using api = await createTestApi()
    await ready(api)
    await api.send('PUT', '/svc/pipeline/cam-1/play')
    await api.send(...start())
    api.engine.restart()
    await reconcile(api.deps, 'service_start')
    expect(await wishOf(api)).toBeNull()
  })

  it('is kept in the database', async () => {
    await using api = await createTestApi()
    await running(api)
    const stored = createPipelineRepository(api.database)
    expect((await stored.find('cam-1'))?.screenshots).toEqual({ interval_seconds: 3, quality: 50 })
    await api.send(...stop())
    expect((await stored.find('cam-1'))?.screenshots).toBeUndefined()
  })
})

describe('the geolocation of a pipeline', () => {
  it('is sent to the engine when it changes, for the next screenshots', async () => {
    await using api = await createTestApi()
    await playing(api)
    await api.send('PATCH', '/svc/pipeline/cam-1', { geolocation: { latitude: 1, longitude: 2 } })
    expect(api.screenshots.geolocations.get('cam-1')).toEqual({ latitude: 1, longitude: 2, altitude: null, heading: null })
    await api.send('PATCH', '/svc/pipeline/cam-1', { geolocation: null })
    expect(api.screenshots.geolocations.get('cam-1')).toBeNull()
  })

  it('is sent when the configuration is replaced', async () => {
    await using api = await createTestApi()
    await api.given(advanced('cam-1', { on_demand: true }))
    await api.send('PUT', '/svc/pipeline/cam-1', advanced('cam-1', { on_demand: true, geolocation: PLACE }))
    expect(api.screenshots.geolocations.get('cam-1')).toEqual(PLACE)
  })
})
