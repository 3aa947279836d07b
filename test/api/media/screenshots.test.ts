import { describe, expect, it } from 'vitest'
import { createPipelineRepository } from '../../../db/pipelines.ts'
import { ApiError } from '../../../lib/errors.ts'
import { reconcile } from '../../../lib/pipelines/reconcile.ts'
import { advanced, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { engineGone, engineReplaced, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const PLACE = { latitude: 60.5, longitude: -128.25, altitude: 12.5, heading: null }
const SCHEDULE = { interval_seconds: 3, quality: 50 }
const START = 'PUT /svc/pipeline/cam-1/screenshots/start'
const STOP = 'PUT /svc/pipeline/cam-1/screenshots/stop'
const SNAPSHOT = 'GET /svc/pipeline/cam-1/snapshot'

const send = (api: TestApi, line: string, body?: unknown) => api.send(...(line.split(' ') as [string, string]), body)
const playing = (api: TestApi) => api.given(simple('cam-1', { geolocation: PLACE }))
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const running = async (api: TestApi) => {
  await playing(api)
  await send(api, START, SCHEDULE)
}
const storedSchedule = async (api: TestApi) => (await api.deps.pipelines.find('cam-1'))?.screenshots ?? null
const expectNone = async (api: TestApi) => expect(await storedSchedule(api)).toBeNull()

describe('starting screenshots', () => {
  testRowsOnAllHosts([
    row(
      'answers the pipeline with the schedule, and stores it',
      [START, SCHEDULE],
      200,
      '"state":"playing","interval_seconds":3,"quality":50',
      {
        given: playing,
        after: async (api) => {
          expect(await storedSchedule(api)).toEqual(SCHEDULE)
          expect(api.screenshots.geolocations.get('cam-1')).toEqual(PLACE)
        },
      },
    ),
    row('uses the defaults without a body', START, 200, '"interval_seconds":10,"quality":85', { given: playing }),
    row('is refused while the pipeline does not play', START, 409, ['"code":"CONFLICT"', '"reason":"not_playing"'], { given: ready }),
  ])
  testRows([
    row('uses the defaults of the settings', [START, { quality: 1 }], 200, '"interval_seconds":33,"quality":1', {
      given: async (api) => {
        await playing(api)
        await send(api, 'PUT /svc/settings', { screenshots: { interval_seconds: 33 } })
      },
    }),
    row('changes the schedule of running screenshots', [START, { interval_seconds: 1.5 }], 200, '"interval_seconds":1.5,"quality":85', {
      given: running,
    }),
    row('is refused when the engine does not know the pipeline', START, 409, '"reason":"not_playing"', {
      given: engineReplaced(playing),
      after: expectNone,
    }),
    row('answers 404 for an unknown id', START, 404, 'NOT_FOUND'),
    row('answers 503 while the engine is gone', START, 503, { given: engineGone(playing), headers: { 'retry-after': '1' } }),
    ...[
      ...[0.99, 86401, '3'].map((interval_seconds) => ({ interval_seconds })),
      ...[0, 101, 50.5].map((quality) => ({ quality })),
      { width: 3 },
    ].map((body) => row(`refuses ${JSON.stringify(body)}`, [START, body], 400, `"path":"${Object.keys(body)[0]}"`, { given: playing })),
  ])
})

it('screenshots whose schedule cannot be stored are not taken', async () => {
  const api = await openApi(playing)
  const refuse = () => Promise.reject(new ApiError('SERVICE_UNAVAILABLE', 'The disk is full.'))
  Object.assign(api.deps.pipelines, { setScreenshots: refuse })
  expect((await api.send('PUT', '/svc/pipeline/cam-1/screenshots/start')).status).toBe(503)
  expect(await (await api.send('GET', '/svc/pipeline/cam-1')).json()).toMatchObject({ screenshots: { state: 'stopped' } })
})

describe('stopping screenshots', () => {
  const stopped = '"screenshots":{"state":"stopped"'
  testRowsOnAllHosts([row('stops them and deletes the schedule', STOP, 200, stopped, { given: running, after: expectNone })])
  testRows([
    row('changes nothing when there are none', STOP, 200, stopped, { given: ready }),
    row('deletes the schedule of a pipeline that the engine does not know', STOP, 200, [stopped, '"state":"ready"'], {
      given: engineReplaced(running),
      after: expectNone,
    }),
    row('answers 404 for an unknown id', STOP, 404),
  ])
})

describe('a snapshot', () => {
  testRowsOnAllHosts([
    row('is a JPEG with its age, without other header fields of the engine', SNAPSHOT, 200, {
      given: playing,
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
    }),
    row('has the quality and width of the query', `${SNAPSHOT}?quality=5&width=640`, 200, { given: playing, headers: { etag: '"5-640"' } }),
    row('answers HEAD without a picture', 'HEAD /svc/pipeline/cam-1/snapshot', 200, { given: playing, headers: { 'content-length': '4' } }),
    row('is refused while the pipeline does not play', SNAPSHOT, 409, '"reason":"not_playing"', { given: ready }),
  ])
  testRows([
    row('is not sent again to a client that has it', [SNAPSHOT, undefined, { 'if-none-match': '"x", W/"85-0"' }], 304, {
      given: playing,
      headers: { etag: '"85-0"', 'content-length': null },
      after: (_api, _response, text) => expect(text).toBe(''),
    }),
    row('answers 404 for an unknown id', SNAPSHOT, 404),
    ...['quality=0', 'quality=101', 'quality=x', 'quality=', 'width=15', 'width=8193', 'width=1e3', 'quality=1&quality=2'].map((query) =>
      row(`refuses ?${query}`, `${SNAPSHOT}?${query}`, 400, 'VALIDATION_ERROR', { given: playing }),
    ),
  ])
})

describe('the schedule of screenshots', () => {
  const replaceEngine = async (api: TestApi, occasion: 'engine_restarted' | 'service_start') => {
    api.screenshots.schedules.clear()
    api.engine.restart()
    await reconcile(api.deps, occasion)
  }

  it('is restored after the engine was replaced', async () => {
    const api = await openApi(running)
    await replaceEngine(api, 'engine_restarted')
    expect(api.screenshots.schedules.get('cam-1')).toEqual(SCHEDULE)
    expect(api.screenshots.geolocations.get('cam-1')).toEqual(PLACE)
  })

  it('ends with the pipeline', async () => {
    const api = await openApi(running)
    await send(api, 'PUT /svc/pipeline/cam-1/stop')
    await expectNone(api)
    await send(api, 'PUT /svc/pipeline/cam-1/play')
    await replaceEngine(api, 'engine_restarted')
    expect(api.screenshots.schedules.size).toBe(0)
  })

  it('is deleted when an on-demand pipeline does not start with the service', async () => {
    const api = await openApi(ready)
    await send(api, 'PUT /svc/pipeline/cam-1/play')
    await send(api, START)
    await replaceEngine(api, 'service_start')
    await expectNone(api)
  })

  it('is kept in the database', async () => {
    const api = await openApi(running)
    const stored = async () => (await createPipelineRepository(api.database).find('cam-1'))?.screenshots
    expect(await stored()).toEqual(SCHEDULE)
    await send(api, STOP)
    expect(await stored()).toBeUndefined()
  })
})

describe('the geolocation of a pipeline', () => {
  const located = (api: TestApi) => api.screenshots.geolocations.get('cam-1')

  it('is sent to the engine when it changes, for the next screenshots', async () => {
    const api = await openApi(playing)
    await send(api, 'PATCH /svc/pipeline/cam-1', { geolocation: { latitude: 1, longitude: 2 } })
    expect(located(api)).toEqual({ latitude: 1, longitude: 2, altitude: null, heading: null })
    await send(api, 'PATCH /svc/pipeline/cam-1', { geolocation: null })
    expect(located(api)).toBeNull()
  })

  it('is sent when the configuration is replaced', async () => {
    const api = await openApi((api) => api.given(advanced('cam-1', { on_demand: true })))
    await send(api, 'PUT /svc/pipeline/cam-1', advanced('cam-1', { on_demand: true, geolocation: PLACE }))
    expect(located(api)).toEqual(PLACE)
  })
})
