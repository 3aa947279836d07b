import { describe, expect, it } from 'vitest'
import { reconcile } from '../../../lib/pipelines/reconcile.ts'
import { advanced, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { engineGone, engineReplaced, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const START = 'PUT /svc/pipeline/cam-1/recording/start'
const STOP = 'PUT /svc/pipeline/cam-1/recording/stop'

const send = (api: TestApi, line: string, body?: unknown) => api.send(...(line.split(' ') as [string, string]), body)
const playing = (api: TestApi) => api.given(simple('cam-1'))
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const recorded = async (api: TestApi) => {
  await playing(api)
  await send(api, START)
}
const stored = async (api: TestApi) => (await api.deps.pipelines.find('cam-1'))?.recording
const isStored = async (api: TestApi) => expect(await stored(api)).toBe(true)
const isNotStored = async (api: TestApi) => expect(await stored(api)).toBe(false)

describe('starting a recording', () => {
  testRowsOnAllHosts([
    row('answers the pipeline that is recorded, and stores it', START, 200, '"recording":{"state":"recording"', {
      given: playing,
      after: isStored,
    }),
  ])
  testRows([
    row('waits for a pipeline that does not play', START, 200, '"recording":{"state":"waiting"', { given: ready, after: isStored }),
    row('changes nothing the second time', START, 200, '"recording":{"state":"recording"', { given: recorded, after: isStored }),
    row('is refused without video', START, 409, '"reason":"no_pay0"', {
      given: (api) => api.given(advanced('cam-1', { raw_pipeline: 'videotestsrc ! fakesink' })),
      after: isNotStored,
    }),
    row('is kept for an engine that does not know the pipeline yet', START, 200, '"state":"waiting"', {
      given: engineReplaced(playing),
      after: isStored,
    }),
    row('answers 503 and stores nothing while the engine is gone', START, 503, { given: engineGone(playing), after: isNotStored }),
    row('answers 404 for an unknown id', START, 404, 'NOT_FOUND'),
  ])
})

describe('stopping a recording', () => {
  testRows([
    row('stops it for good', STOP, 200, '"recording":{"state":"stopped","since":null,"last_error":null}', {
      given: recorded,
      after: async (api) => {
        await isNotStored(api)
        expect([...api.recordings.recorded]).toEqual([])
      },
    }),
    row('changes nothing where nothing is recorded', STOP, 200, '"state":"stopped"', { given: playing, after: isNotStored }),
  ])
})

const RANGE = 'from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z'
const HOUR = { from: Date.parse('2026-11-20T10:00:00Z'), to: Date.parse('2026-11-20T11:00:00Z') }
const span = (pipeline_id: string) => ({ pipeline_id, ...HOUR, bytes: 1000, tracks: ['h264', 'klv'] })
const archive = (api: TestApi) => {
  api.recordings.spans = [span('cam-1'), span('cam-2')]
}
const asked = (query: object) => (api: TestApi) => expect(api.recordings.queries[0]).toMatchObject(query)

describe('the list of recordings', () => {
  testRowsOnAllHosts([
    row(
      'has spans in a range, also of pipelines that do not exist',
      `GET /svc/recordings?${RANGE}`,
      200,
      '[{"pipeline_id":"cam-1","from":"2026-11-20T10:00:00.000Z","to":"2026-11-20T11:00:00.000Z","bytes":1000,"tracks":["h264","klv"]},',
      { given: archive, headers: { link: null }, after: asked({ ...HOUR, limit: 1000 }) },
    ),
  ])
  testRows([
    row('asks for a place and a pipeline', 'GET /svc/recordings?covers=48.5,-11.25&pipeline_id=cam-1', 200, {
      after: asked({ latitude: 48.5, longitude: -11.25, pipeline_id: 'cam-1' }),
    }),
    row('has the address of the next page', `GET /svc/recordings?limit=1&${RANGE}`, 200, {
      given: archive,
      after: (_api, response) => expect(response.headers.get('link')).toContain('before=2026-11-20T10%3A00%3A00.000Z'),
    }),
    ...[
      'from=yesterday',
      'from=2026-11-20',
      'from=2026-11-20T10:00:00',
      'before=1',
      'limit=1001',
      'covers=91,0',
      'covers=1',
      'covers=1,2,3',
      'covers=,',
    ].map((query) => row(`refuses ${query}`, `GET /svc/recordings?${query}`, 400, query.slice(0, query.indexOf('=')))),
    row(
      'refuses a range that ends before it begins',
      'GET /svc/recordings?from=2026-11-20T11:00:00Z&to=2026-11-20T10:00:00Z',
      400,
      '"path":"to"',
    ),
    row(
      'is deleted up to a time',
      'DELETE /svc/recordings?pipeline_id=cam-1&before=2026-11-20T11:00:00Z',
      200,
      '{"deleted":1,"bytes":1000}',
      { given: archive },
    ),
    row('needs a pipeline to be deleted', 'DELETE /svc/recordings?before=2026-11-20T11:00:00Z', 400, 'pipeline_id'),
    row('needs a time to be deleted', 'DELETE /svc/recordings?pipeline_id=cam-1', 400, 'before'),
    row('has a public key', 'GET /svc/recordings/key', 200, '-----BEGIN PUBLIC KEY-----', {
      headers: { 'content-type': 'application/x-pem-file' },
    }),
  ])
})

describe('a range of a recording', () => {
  const bytes = (length: number) => (_api: TestApi, response: Response, text: string) => {
    expect(text.length).toBe(length)
    expect(response.headers.get('x-secret')).toBeNull()
  }
  testRowsOnAllHosts([
    row('is one MPEG-TS', `GET /svc/pipeline/cam-1/recording.ts?${RANGE}`, 200, {
      given: archive,
      headers: { 'content-type': 'video/mp2t', 'content-length': '376', 'accept-ranges': 'bytes' },
      after: bytes(376),
    }),
    row('can be read in parts', [`GET /svc/pipeline/cam-1/recording.ts?${RANGE}`, undefined, { range: 'bytes=0-0' }], 206, {
      given: archive,
      headers: { 'content-range': 'bytes 0-0/376', 'content-length': '1' },
      after: bytes(1),
    }),
  ])
  testRows([
    row('has its header fields for HEAD', `HEAD /svc/pipeline/cam-1/recording.ts?${RANGE}`, 200, {
      given: archive,
      headers: { 'content-length': '376', 'accept-ranges': 'bytes' },
      after: bytes(0),
    }),
    row('is a playlist', `GET /svc/pipeline/cam-1/recording.m3u8?${RANGE}`, 200, '#EXTM3U', {
      given: archive,
      headers: { 'content-type': 'application/vnd.apple.mpegurl' },
    }),
    row('has its files', 'GET /svc/pipeline/cam-1/recording/20261120T100000.000Z.ts', 200, { given: archive, after: bytes(376) }),
    row('shows the picture of a moment', 'GET /svc/pipeline/cam-1/recording.jpg?at=2026-11-20T10:30:00Z', 200, {
      given: archive,
      headers: { 'content-type': 'image/jpeg', 'x-created-at': '2026-11-20T10:30:00.000Z' },
    }),
    row('has the KLV of a moment', 'GET /svc/pipeline/cam-1/recording.klv?at=2026-11-20T10:30:00Z', 200, '"sensor_latitude":48.5', {
      given: archive,
      headers: { 'content-type': 'application/json' },
    }),
    row('has its footprint', 'GET /svc/pipeline/cam-1/recording.klv?format=footprint&at=2026-11-20T10:30:00Z', 200, '"Polygon"', {
      given: archive,
      headers: { 'content-type': 'application/geo+json' },
    }),
    row('has no other form of its KLV', 'GET /svc/pipeline/cam-1/recording.klv?format=cot&at=2026-11-20T10:30:00Z', 400, 'format'),
    ...['ts', 'm3u8', 'jpg', 'klv']
      .map((type) => `recording.${type}?${/jpg|klv/.test(type) ? 'at=2026-11-20T10:30:00Z' : RANGE}`)
      .flatMap((path) => [
        row(`${path} answers 404 where nothing is recorded`, `GET /svc/pipeline/cam-3/${path}`, 404, '"reason":"no_recording"', {
          given: archive,
        }),
        row(`${path} needs its times`, `GET /svc/pipeline/cam-1/${path.slice(0, path.indexOf('?'))}`, 400, 'VALIDATION_ERROR'),
      ]),
  ])
})

describe('a recorded pipeline', () => {
  it('is recorded again by an engine that was started anew, also while it is stopped', async () => {
    const api = await openApi()
    await recorded(api)
    await send(api, 'PUT /svc/pipeline/cam-1/stop')
    api.engine.restart()
    api.recordings.recorded.clear()
    await reconcile(api.deps, 'service_start')
    expect([...api.recordings.recorded]).toEqual(['cam-1'])
  })

  it('keeps its ETag when its recording starts, and the recording when it is replaced', async () => {
    const api = await openApi()
    await ready(api)
    const etag = async () => (await send(api, 'GET /svc/pipeline/cam-1')).headers.get('etag')
    const before = await etag()
    await send(api, START)
    expect(await etag()).toBe(before)
    await send(api, 'PUT /svc/pipeline/cam-1', simple('cam-1', { on_demand: true, klv_config: { pass_klv: true } }))
    await isStored(api)
  })
})
