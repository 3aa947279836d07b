import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../lib/errors.ts'
import { API_KEY, advanced, createTestApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { engineGone, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const create = (body: unknown) => ['POST /svc/pipeline', body] as const
const creates = (name: string, body: object, contains: string | readonly string[], options = {}) =>
  row(name, create(body), 201, contains, options)
const refuses = (name: string, body: object, ...contains: string[]) =>
  row(name, create(body), 400, ['VALIDATION_ERROR', ...contains], { after: nothingLeft })

const isStored = async (api: TestApi) => (await api.send('GET', '/svc/pipeline/cam-1')).status === 200
const statusOf = async (api: TestApi) => (await api.send('POST', '/svc/pipeline', simple('cam-1'))).status
const nothingLeft = async (api: TestApi) => expect([await isStored(api), api.engine.ids()]).toEqual([false, []])

const SILENT = { raw_pipeline: 'videotestsrc ! fakesink' }

describe('creating a pipeline', () => {
  testRowsOnAllHosts([
    creates(
      'publishes an advanced pipeline that names pay0',
      advanced('adv'),
      ['"output":{"uri":"rtsp://0.0.0.0:50000/adv"}', '"raw_pipeline":"videotestsrc'],
      { lacks: ['"source"', '"encoding"'] },
    ),
    creates(
      'masks the credentials of the source in the answer and sends them to the engine',
      simple('cam-1', { source: { uri: 'rtsp://admin:s3cret@10.0.0.5/stream' } }),
      '"uri":"rtsp://***@10.0.0.5/stream"',
      {
        lacks: ['s3cret', 'admin'],
        after: (api: TestApi) =>
          expect(api.engine.config('cam-1')).toMatchObject({ source: { uri: 'rtsp://admin:s3cret@10.0.0.5/stream' } }),
      },
    ),
    row('refuses an existing id before any call of the engine', create(simple('cam-1')), 409, '"code":"CONFLICT"', {
      given: (api) => api.given(simple('cam-1')),
      after: (api) => expect(api.engine.calls.filter((call) => call === 'check cam-1')).toHaveLength(1),
    }),
    refuses(
      'answers the message of the engine for an unknown element',
      advanced('cam-1', { raw_pipeline: 'nosuchelement ! fakesink' }),
      'no element \\"nosuchelement\\"',
    ),
    row(
      'stores at once in the background, and goes on trying',
      ['POST /svc/pipeline?start=background', simple('cam-1')],
      201,
      ['"state":"ready"', '"phase":"starting"', '"desired":"playing"'],
      {
        given: (api) => api.engine.startFaults.set('cam-1', new ApiError('PIPELINE_START_TIMEOUT', 'No media.')),
        after: async (api) => expect(await isStored(api)).toBe(true),
      },
    ),
    row(
      'refuses in the background what no attempt can mend',
      ['POST /svc/pipeline?start=background', advanced('cam-1', { raw_pipeline: 'nosuchelement ! fakesink' })],
      400,
      { after: nothingLeft },
    ),
    row('answers 503 with Retry-After when the engine is gone', create(simple('cam-1')), 503, 'SERVICE_UNAVAILABLE', {
      given: engineGone(),
      headers: { 'retry-after': '1' },
    }),
  ])
  testRows([
    creates('starts a pipeline that is not on-demand and answers all fields in order', simple('cam-1'), [], {
      headers: { location: '/svc/pipeline/cam-1', 'cache-control': 'no-store', 'content-type': 'application/json' },
      after: (_api: TestApi, _response: Response, text: string) => {
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
    }),
    creates('does not start an on-demand pipeline', simple('cam-1', { on_demand: true }), ['"state":"ready"', '"desired":"ready"'], {
      after: (api: TestApi) => expect(api.engine.calls).not.toContain('play cam-1'),
    }),
    creates(
      'fills in the defaults of an encoding',
      simple('cam-1', { encoding: { codec: 'h265' } }),
      '{"codec":"h265","bitrate":2000,"quality":7}',
    ),
    creates(
      'answers a whole encoding in order',
      simple('cam-1', { encoding: { quality: 1, fps: 29.97, height: 720, width: 1280, bitrate: 1500, codec: 'h264' } }),
      '{"codec":"h264","bitrate":1500,"width":1280,"height":720,"fps":29.97,"quality":1}',
    ),
    creates(
      'uses the given output address',
      simple('cam-1', { output: { uri: 'rtsp://0.0.0.0:8600/cam-1' } }),
      '"output":{"uri":"rtsp://0.0.0.0:8600/cam-1"}',
    ),
    creates(
      'answers null for missing fields of a geolocation',
      simple('cam-1', { geolocation: { latitude: 60.1, longitude: 24.9 } }),
      '{"latitude":60.1,"longitude":24.9,"altitude":null,"heading":null}',
    ),
    creates(
      'ignores read-only fields',
      simple('cam-1', { state: 'playing', klv: 1, screenshots: null, runtime: {}, ephemeral: true, created_at: 'x', updated_at: 3 }),
      ['"ephemeral":false', '"created_at":"2026-11-20T10:00:00.000Z"'],
    ),
    creates('gives an advanced pipeline without pay0 no output', advanced('adv', SILENT), [], { lacks: ['"output"'] }),
    refuses(
      'refuses an output address without pay0',
      advanced('cam-1', { ...SILENT, output: { uri: 'rtsp://0.0.0.0:8600/cam-1' } }),
      '"path":"output.uri"',
      'pay0',
    ),
    refuses(
      'refuses a push without pay0',
      advanced('cam-1', { ...SILENT, push: [{ uri: 'udp://10.0.0.9:5000' }] }),
      '"path":"push"',
      'pay0',
    ),
    refuses(
      'refuses a source with masked credentials',
      simple('cam-1', { source: { uri: 'rtsp://***@10.0.0.5/stream' } }),
      'source.uri',
      'masked',
    ),
  ])
})

describe('a create that fails leaves nothing behind', () => {
  const fails = (name: string, fault: ApiError, contains: readonly string[], lacks: readonly string[] = []) =>
    row(name, create(simple('cam-1')), fault.status, contains, {
      given: (api) => api.engine.startFaults.set('cam-1', fault),
      lacks,
      after: async (api) => {
        await nothingLeft(api)
        api.engine.startFaults.clear()
        expect(await statusOf(api)).toBe(201)
      },
    })
  const REFUSED = { cause: 'rtsp://bob:pw@10.0.0.5/ said 401', tries: ['user-pw=pw'] }
  testRowsOnAllHosts([
    fails('when the source does not answer in time', new ApiError('PIPELINE_START_TIMEOUT', 'Too late.', { cause: 'refused' }), [
      'PIPELINE_START_TIMEOUT',
      '"cause":"refused"',
    ]),
  ])
  testRows([
    fails(
      'when the engine rejects it, and shows no credentials',
      new ApiError('ENGINE_ERROR', 'Could not open rtsp://bob:pw@10.0.0.5/', REFUSED),
      ['ENGINE_ERROR', '***@10.0.0.5'],
      ['bob', 'pw@', '=pw'],
    ),
    fails('when the engine is lost during the start', new ApiError('SERVICE_UNAVAILABLE', 'The media engine is gone.'), []),
  ])

  it('when the database cannot store it', async () => {
    await using api = await createTestApi()
    api.database.close()
    const response = await api.send('POST', '/svc/pipeline', simple('cam-1'))
    expect([response.status, api.engine.ids()]).toEqual([503, []])
    expect(await response.text()).not.toMatch(/sql|CLIENT_CLOSED/i)
  })

  it('when only the last step, the insert, fails', async () => {
    await using api = await createTestApi()
    const { insert } = api.deps.pipelines
    api.deps.pipelines.insert = async () => {
      throw new Error('SQLITE_FULL: database or disk is full')
    }
    const response = await api.send('POST', '/svc/pipeline', simple('cam-1'))
    expect([response.status, api.engine.ids()]).toEqual([500, []])
    expect(await response.text()).not.toContain('SQLITE')
    api.deps.pipelines.insert = insert
    expect(await statusOf(api)).toBe(201)
  })

  it('when the database has stored it, and its answer was lost', async () => {
    await using api = await createTestApi()
    const { insert } = api.deps.pipelines
    api.deps.pipelines.insert = async (record) => {
      await insert(record)
      throw new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer.', { reason: 'database' })
    }
    expect(await statusOf(api)).toBe(503)
    await nothingLeft(api)
  })

  it('but not what another process has stored under its id meanwhile', async () => {
    await using api = await createTestApi()
    const { insert } = api.deps.pipelines
    api.deps.pipelines.insert = async (record) => {
      await insert({ ...record, created_at: record.created_at - 1 })
      return insert(record)
    }
    expect([await statusOf(api), await isStored(api)]).toEqual([409, true])
  })
})

describe('creates at the same time', () => {
  it('let one of ten with the same id succeed and keep its pipeline', async () => {
    await using api = await createTestApi()
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(api)))
    expect(statuses.sort()).toEqual([201, ...Array(9).fill(409)])
    expect([api.engine.ids(), await api.deps.pipelines.count()]).toEqual([['cam-1'], 1])
  })

  it('do not remove a pipeline that another API process registered first', async () => {
    await using api = await createTestApi()
    await using other = await createTestApi()
    await other.given(simple('cam-1'))
    const config = other.engine.config('cam-1')
    if (config !== undefined) api.engine.plant(config, 'playing')
    expect([await statusOf(api), api.engine.ids()]).toEqual([409, ['cam-1']])
  })

  it('get a port each', async () => {
    await using api = await createTestApi()
    const ids = Array.from({ length: 20 }, (_, index) => `cam-${index}`)
    await Promise.all(ids.map((id) => api.given(simple(id))))
    expect(new Set(ids.map((id) => api.engine.config(id)?.output?.uri)).size).toBe(20)
  })
})

describe('validating a pipeline', () => {
  testRowsOnAllHosts([
    row(
      'answers the launch line and creates nothing',
      ['POST /svc/pipeline/validate', simple('cam-1', { source: { uri: 'rtsp://u:p@10.0.0.5/' } })],
      200,
      ['"valid":true', '"launch":"gst-launch-1.0'],
      { lacks: ['u:p'], after: nothingLeft },
    ),
    row('answers the 400 of a create', ['POST /svc/pipeline/validate', simple('a b')], 400, '"path":"id"'),
  ])
})

describe('a missing element', () => {
  const ADVICE = 'No encoder for H.264 is installed. Install one: apt-get install gstreamer1.0-plugins-ugly'
  const encoded = simple('cam-1', { encoding: { codec: 'h264' }, on_demand: true })
  testRows(
    (
      [
        ['POST /svc/pipeline', encoded],
        ['POST /svc/pipeline/validate', encoded],
        ['PUT /svc/pipeline/old', { ...encoded, id: 'old' }],
        ['PUT /svc/triggers/mediaServer/publish?path=cam-1', undefined, { 'x-api-key': API_KEY }],
      ] as const
    ).map((request) =>
      row(`${request[0]} says which package is missing`, request, 500, ['"code":"ENGINE_ERROR"', '"reason":"missing_element"', ADVICE], {
        given: async (api) => {
          await api.given(simple('old', { on_demand: true }))
          api.engine.checkFault = new ApiError('ENGINE_ERROR', ADVICE, { cause: ADVICE, reason: 'missing_element' })
        },
      }),
    ),
  )
})
