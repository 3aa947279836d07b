import { describe, expect, it } from 'vitest'
import { ApiError } from '../../lib/errors.ts'
import { advanced, createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { type ApiRow, testRows } from './api-rows.ts'

const create = (body: unknown) => ['POST', '/svc/pipeline', body] as const

const stored = async (api: TestApi, id = 'cam-1') => (await api.send('GET', `/svc/pipeline/${id}`)).status === 200

describe('creating a pipeline', () => {
  testRows([
    {
      name: 'starts a pipeline that is not on-demand and answers all fields in the documented order',
      inProcess: true,
      request: create(simple('cam-1')),
      status: 201,
      headers: { location: '/svc/pipeline/cam-1', 'cache-control': 'no-store', 'content-type': 'application/json' },
      after: (_api, _response, text) => {
        const body = JSON.parse(text)
        expect(body).toEqual({
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
          runtime: expect.objectContaining({ phase: 'playing', desired: 'playing', last_error: null, next_retry_at: null }),
          push: [],
          ephemeral: false,
          created_at: '2026-11-20T10:00:00.000Z',
          updated_at: '2026-11-20T10:00:00.000Z',
        })
        expect(Object.keys(body).join()).toBe(
          'id,mode,on_demand,state,source,encoding,output,klv,klv_config,push,geolocation,screenshots,runtime,ephemeral,created_at,updated_at',
        )
      },
    },
    {
      name: 'does not start an on-demand pipeline',
      request: create(simple('cam-1', { on_demand: true })),
      status: 201,
      contains: ['"state":"ready"', '"on_demand":true', '"desired":"ready"'],
      after: (api) => expect(api.engine.calls).not.toContain('play cam-1'),
    },
    {
      name: 'fills in the defaults of an encoding and leaves out what the source decides',
      request: create(simple('cam-1', { encoding: { codec: 'h265' } })),
      status: 201,
      contains: ['"encoding":{"codec":"h265","bitrate":2000,"quality":7}'],
    },
    {
      name: 'answers a complete encoding in the documented order',
      request: create(simple('cam-1', { encoding: { quality: 1, fps: 29.97, height: 720, width: 1280, bitrate: 1500, codec: 'h264' } })),
      status: 201,
      contains: ['"encoding":{"codec":"h264","bitrate":1500,"width":1280,"height":720,"fps":29.97,"quality":1}'],
    },
    {
      name: 'uses the given output address',
      request: create(simple('cam-1', { output: { uri: 'rtsp://0.0.0.0:8600/cam-1' } })),
      status: 201,
      contains: ['"output":{"uri":"rtsp://0.0.0.0:8600/cam-1"}'],
    },
    {
      name: 'answers null for missing fields of a geolocation',
      request: create(simple('cam-1', { geolocation: { latitude: 60.1, longitude: 24.9 } })),
      status: 201,
      contains: ['"geolocation":{"latitude":60.1,"longitude":24.9,"altitude":null,"heading":null}'],
    },
    {
      name: 'ignores read-only fields',
      inProcess: true,
      request: create(
        simple('cam-1', { state: 'playing', klv: 1, screenshots: null, runtime: {}, ephemeral: true, created_at: 'x', updated_at: 3 }),
      ),
      status: 201,
      contains: ['"ephemeral":false', '"created_at":"2026-11-20T10:00:00.000Z"'],
    },
    {
      name: 'publishes an advanced pipeline that names pay0',
      request: create(advanced('adv')),
      status: 201,
      contains: ['"output":{"uri":"rtsp://0.0.0.0:50000/adv"}', '"raw_pipeline":"videotestsrc'],
      lacks: ['"source"', '"encoding"'],
    },
    {
      name: 'gives an advanced pipeline without pay0 no output',
      request: create(advanced('adv', { raw_pipeline: 'videotestsrc ! fakesink' })),
      status: 201,
      lacks: ['"output"'],
    },
    {
      name: 'refuses an output address for a description without pay0',
      request: create(advanced('adv', { raw_pipeline: 'videotestsrc ! fakesink', output: { uri: 'rtsp://0.0.0.0:8600/adv' } })),
      status: 400,
      contains: ['VALIDATION_ERROR', '"path":"output.uri"', 'pay0'],
      after: (api) => expect(api.engine.ids()).toEqual([]),
    },
    {
      name: 'refuses a push of a description without pay0',
      request: create(advanced('adv', { raw_pipeline: 'videotestsrc ! fakesink', push: [{ uri: 'udp://10.0.0.9:5000' }] })),
      status: 400,
      contains: ['VALIDATION_ERROR', '"path":"push"', 'pay0'],
      after: (api) => expect(api.engine.ids()).toEqual([]),
    },
    {
      name: "answers the engine's words for an unknown element",
      request: create(advanced('adv', { raw_pipeline: 'nosuchelement ! fakesink' })),
      status: 400,
      contains: ['VALIDATION_ERROR', 'no element \\"nosuchelement\\"'],
    },
    {
      name: 'refuses a denied element',
      request: create(advanced('adv', { raw_pipeline: 'filesrc location=/etc/passwd ! fakesink' })),
      status: 400,
      contains: ['VALIDATION_ERROR', 'filesrc'],
    },
    {
      name: 'refuses a file source without permission',
      request: create(simple('cam-1', { source: { uri: 'file:///srv/video.mp4' } })),
      status: 400,
      contains: ['source.uri'],
    },
    {
      name: 'refuses an output on a foreign address',
      request: create(simple('cam-1', { output: { uri: 'rtsp://203.0.113.9:8600/cam-1' } })),
      status: 400,
      contains: ['output.uri'],
    },
    {
      name: 'masks the credentials of the source in the answer and sends them to the engine',
      request: create(simple('cam-1', { source: { uri: 'rtsp://admin:s3cret@10.0.0.5/stream' } })),
      status: 201,
      contains: ['"uri":"rtsp://***@10.0.0.5/stream"'],
      lacks: ['s3cret', 'admin'],
      after: (api) => expect(api.engine.config('cam-1')).toMatchObject({ source: { uri: 'rtsp://admin:s3cret@10.0.0.5/stream' } }),
    },
    {
      name: 'refuses a source with masked credentials',
      request: create(simple('cam-1', { source: { uri: 'rtsp://***@10.0.0.5/stream' } })),
      status: 400,
      contains: ['source.uri', 'masked'],
    },
    {
      name: 'refuses an existing id before any call of the engine',
      given: (api) => api.given(simple('cam-1')),
      request: create(simple('cam-1', { source: { uri: 'rtsp://10.0.0.6/other' } })),
      status: 409,
      contains: ['"code":"CONFLICT"'],
      after: (api) => {
        expect(api.engine.calls.filter((call) => call === 'check cam-1')).toHaveLength(1)
        expect(api.engine.config('cam-1')).toMatchObject({ source: { uri: 'rtsp://10.0.0.5/stream' } })
      },
    },
    {
      name: 'answers 503 with Retry-After when no output port is free',
      inProcess: true,
      given: async (api) => {
        api.deps.engine.put = async () => {
          throw new ApiError('SERVICE_UNAVAILABLE', 'Every output port is taken.', { reason: 'no_free_port' })
        }
      },
      request: create(simple('cam-1')),
      status: 503,
      contains: ['"reason":"no_free_port"'],
      headers: { 'retry-after': '1' },
    },
    {
      name: 'answers 503 with Retry-After when the engine is gone',
      given: async (api) => {
        api.engine.reachable = false
      },
      request: create(simple('cam-1')),
      status: 503,
      contains: ['SERVICE_UNAVAILABLE'],
      headers: { 'retry-after': '1' },
    },
  ])
})

const failedStart = (error: ApiError): Pick<ApiRow, 'given' | 'request' | 'after'> => ({
  given: async (api) => api.engine.startFaults.set('cam-1', error),
  request: create(simple('cam-1')),
  after: async (api) => {
    expect(api.engine.ids()).toEqual([])
    expect(await stored(api)).toBe(false)
    api.engine.startFaults.clear()
    expect((await api.send('POST', '/svc/pipeline', simple('cam-1'))).status).toBe(201)
  },
})

describe('a start that fails at creation leaves nothing behind', () => {
  testRows([
    {
      name: 'when the source does not answer in time',
      ...failedStart(new ApiError('PIPELINE_START_TIMEOUT', 'The pipeline did not start in time.', { cause: 'Connection refused' })),
      status: 504,
      contains: ['PIPELINE_START_TIMEOUT', '"cause":"Connection refused"'],
    },
    {
      name: 'when the engine rejects it, without showing credentials',
      ...failedStart(
        new ApiError('ENGINE_ERROR', 'Could not open rtsp://bob:pw@10.0.0.5/', {
          cause: 'rtsp://bob:pw@10.0.0.5/ said 401',
          tries: ['user-pw=pw'],
        }),
      ),
      status: 500,
      contains: ['ENGINE_ERROR', '***@10.0.0.5'],
      lacks: ['bob', 'pw@', '=pw'],
    },
    {
      name: 'when the engine is lost during the start',
      ...failedStart(new ApiError('SERVICE_UNAVAILABLE', 'The media engine is gone.')),
      status: 503,
    },
  ])

  it('also when the database cannot store it', async () => {
    await using api = await createTestApi()
    await api.database.close()
    const response = await api.send('POST', '/svc/pipeline', simple('cam-1'))
    expect(response.status).toBe(503)
    expect(await response.text()).not.toMatch(/sql|CLIENT_CLOSED/i)
    expect(api.engine.ids()).toEqual([])
  })

  it('also when only the last step, the insert, fails', async () => {
    await using api = await createTestApi()
    const insert = api.deps.pipelines.insert
    api.deps.pipelines.insert = async () => {
      throw new Error('SQLITE_FULL: database or disk is full')
    }
    const response = await api.send('POST', '/svc/pipeline', simple('cam-1'))
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('SQLITE')
    expect(api.engine.ids()).toEqual([])
    api.deps.pipelines.insert = insert
    expect((await api.send('POST', '/svc/pipeline', simple('cam-1'))).status).toBe(201)
  })

  it('also when the database has stored it, and its answer was lost', async () => {
    await using api = await createTestApi()
    const { insert } = api.deps.pipelines
    api.deps.pipelines.insert = async (record) => {
      await insert(record)
      throw new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer.', { reason: 'database' })
    }
    expect((await api.send('POST', '/svc/pipeline', simple('cam-1'))).status).toBe(503)
    expect([await stored(api), api.engine.ids()]).toEqual([false, []])
  })

  it('but not what another process has stored under its id meanwhile', async () => {
    await using api = await createTestApi()
    const { insert } = api.deps.pipelines
    api.deps.pipelines.insert = async (record) => {
      await insert({ ...record, created_at: record.created_at - 1 })
      return insert(record)
    }
    expect((await api.send('POST', '/svc/pipeline', simple('cam-1'))).status).toBe(409)
    expect(await stored(api)).toBe(true)
  })
})

describe('creates at the same time', () => {
  it('let one of ten with the same id succeed and keep its pipeline', async () => {
    await using api = await createTestApi()
    const answers = await Promise.all(Array.from({ length: 10 }, () => api.send('POST', '/svc/pipeline', simple('cam-1'))))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)])
    expect(api.engine.ids()).toEqual(['cam-1'])
    expect(await api.deps.pipelines.count()).toBe(1)
  })

  it('do not remove a pipeline that another API process registered first', async () => {
    await using api = await createTestApi()
    const config = {
      id: 'cam-1',
      mode: 'simple',
      on_demand: false,
      source: { uri: 'rtsp://x/', latency_ms: 0 },
      encoding: null,
      output: null,
    } as const
    api.engine.plant({ ...config, klv_config: { pass_klv: false, auto_extract_geolocation: false }, push: [], ephemeral: false }, 'playing')
    expect((await api.send('POST', '/svc/pipeline', simple('cam-1'))).status).toBe(409)
    expect(api.engine.ids()).toEqual(['cam-1'])
  })

  it('get a port each', async () => {
    await using api = await createTestApi()
    const ids = Array.from({ length: 20 }, (_, index) => `cam-${index}`)
    await Promise.all(ids.map((id) => api.given(simple(id))))
    const ports = ids.map((id) => api.engine.config(id)?.output?.uri)
    expect(new Set(ports).size).toBe(20)
  })
})

describe('validating a pipeline', () => {
  testRows([
    {
      name: 'answers the launch line and creates nothing',
      request: ['POST', '/svc/pipeline/validate', simple('cam-1', { source: { uri: 'rtsp://u:p@10.0.0.5/' } })],
      status: 200,
      contains: ['"valid":true', '"launch":"gst-launch-1.0'],
      lacks: ['u:p'],
      after: async (api) => {
        expect(api.engine.ids()).toEqual([])
        expect(await stored(api)).toBe(false)
      },
    },
    {
      name: 'answers the 400 of a create',
      request: ['POST', '/svc/pipeline/validate', simple('a b')],
      status: 400,
      contains: ['"path":"id"'],
    },
    {
      name: "gives the engine's words",
      request: ['POST', '/svc/pipeline/validate', advanced('adv', { raw_pipeline: 'nosuchelement' })],
      status: 400,
      contains: ['nosuchelement'],
    },
  ])
})
