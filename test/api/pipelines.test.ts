import { describe, expect, it } from 'vitest'
import { ApiError } from '../../lib/errors.ts'
import { advanced, createTestApi, simple, type TestApi } from '../helpers/api.ts'
import { type ApiRow, testRows } from './api-rows.ts'

const playing = (id: string) => (api: TestApi) => api.given(simple(id))
const ready =
  (id: string, more: Record<string, unknown> = {}) =>
  (api: TestApi) =>
    api.given(simple(id, { on_demand: true, ...more }))

describe('creating a pipeline', () => {
  testRows([
    {
      name: 'starts a pipeline that is not on-demand and answers it playing',
      request: ['POST', '/svc/pipeline', simple('cam-1')],
      status: 201,
      headers: { location: '/svc/pipeline/cam-1', 'cache-control': 'no-store', 'content-type': 'application/json' },
      after: (_api, _response, text) =>
        expect(JSON.parse(text)).toEqual({
          id: 'cam-1',
          mode: 'simple',
          on_demand: false,
          state: 'playing',
          source: { uri: 'rtsp://10.0.0.5/stream', latency_ms: 200 },
          encoding: null,
          output: { uri: 'rtsp://0.0.0.0:50000/cam-1' },
          klv: { available: false },
          klv_config: { pass_klv: false, auto_extract_geolocation: false },
          geolocation: null,
          screenshots: { state: 'stopped', interval_seconds: 10, quality: 85 },
          runtime: expect.objectContaining({ phase: 'playing', desired: 'playing', last_error: null }),
          ephemeral: false,
          created_at: '2026-11-20T10:00:00.000Z',
          updated_at: '2026-11-20T10:00:00.000Z',
        }),
    },
    {
      name: 'does not start an on-demand pipeline',
      request: ['POST', '/svc/pipeline', simple('cam-1', { on_demand: true })],
      status: 201,
      contains: ['"state":"ready"', '"on_demand":true'],
      after: (api) => expect(api.engine.calls).not.toContain('play cam-1'),
    },
    {
      name: 'fills the defaults of an encoding',
      request: ['POST', '/svc/pipeline', simple('cam-1', { encoding: { codec: 'h265' } })],
      status: 201,
      contains: ['"encoding":{"codec":"h265","bitrate":2000,"quality":7}'],
    },
    {
      name: 'publishes an advanced pipeline that names pay0',
      request: ['POST', '/svc/pipeline', advanced('adv')],
      status: 201,
      contains: ['"output":{"uri":"rtsp://0.0.0.0:50000/adv"}', '"raw_pipeline":"videotestsrc'],
      lacks: ['"source"', '"encoding"'],
    },
    {
      name: 'gives an advanced pipeline without pay0 no output',
      request: ['POST', '/svc/pipeline', advanced('adv', { raw_pipeline: 'videotestsrc ! fakesink' })],
      status: 201,
      lacks: ['"output"'],
    },
    {
      name: 'stores nothing when the start times out',
      given: async (api) =>
        api.engine.startFaults.set('cam-1', new ApiError('PIPELINE_START_TIMEOUT', 'Too slow.', { cause: 'Connection refused' })),
      request: ['POST', '/svc/pipeline', simple('cam-1')],
      status: 504,
      contains: ['PIPELINE_START_TIMEOUT', '"cause":"Connection refused"'],
      after: async (api) => {
        expect(api.engine.ids()).toEqual([])
        expect((await api.send('GET', '/svc/pipeline/cam-1')).status).toBe(404)
      },
    },
    {
      name: 'refuses an id that exists',
      given: playing('cam-1'),
      request: ['POST', '/svc/pipeline', simple('cam-1')],
      status: 409,
      contains: ['"code":"CONFLICT"'],
      after: (api) => expect(api.engine.ids()).toEqual(['cam-1']),
    },
  ])

  it('lets one of two creates of the same id win and keeps what it made', async () => {
    await using api = await createTestApi()
    const answers = await Promise.all([1, 2].map(() => api.send('POST', '/svc/pipeline', simple('cam-1'))))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
    expect(api.engine.ids()).toEqual(['cam-1'])
    expect(await api.deps.pipelines.count()).toBe(1)
  })
})

const readBack: ApiRow[] = [
  { name: 'answers 404 for an unknown id', request: ['GET', '/svc/pipeline/nobody'], status: 404, contains: ['NOT_FOUND'] },
  { name: 'reads one', given: ready('cam-1'), request: ['GET', '/svc/pipeline/cam-1'], status: 200, contains: ['"id":"cam-1"'] },
  {
    name: 'reads the status',
    given: ready('cam-1'),
    request: ['GET', '/svc/pipeline/cam-1/status'],
    status: 200,
    contains: ['"id":"cam-1"'],
  },
]
describe('reading pipelines', () => testRows(readBack))
