import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../lib/errors.ts'
import { API_KEY, advanced, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { engineGone, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const BACKGROUND = 'POST /svc/pipeline?start=background'
const create = (body: unknown) => ['POST /svc/pipeline', body] as const
const creates = (name: string, body: object, contains: string | readonly string[], options = {}) =>
  row(name, create(body), 201, contains, options)
const refuses = (name: string, body: object, ...contains: string[]) =>
  row(name, create(body), 400, ['VALIDATION_ERROR', ...contains], { after: nothingLeft })

const isStored = async (api: TestApi) => (await api.send('GET', '/svc/pipeline/cam-1')).status === 200
const statusOf = async (api: TestApi) => (await api.send('POST', '/svc/pipeline', simple('cam-1'))).status
const encoded = (encoding: object) => simple('cam-1', { encoding })
const nothingLeft = async (api: TestApi) => expect([await isStored(api), api.engine.ids()]).toEqual([false, []])

const SECRET = simple('cam-1', { source: { uri: 'rtsp://admin:s3cret@10.0.0.5/stream' } })
const UNKNOWN_ELEMENT = advanced('cam-1', { raw_pipeline: 'nosuchelement ! fakesink' })
const OUTPUT = { output: { uri: 'rtsp://0.0.0.0:8600/cam-1' } }
const SILENT = { raw_pipeline: 'videotestsrc ! fakesink' }

describe('creating a pipeline', () => {
  testRowsOnAllHosts([
    creates(
      'publishes an advanced pipeline that names pay0',
      advanced('adv'),
      ['rtsp://0.0.0.0:50000/adv"', '"raw_pipeline":"videotestsrc'],
      {
        lacks: ['"source"', '"encoding"'],
      },
    ),
    creates(
      'masks the credentials of the source in the answer and sends them to the engine',
      SECRET,
      '"uri":"rtsp://***@10.0.0.5/stream"',
      {
        lacks: ['s3cret', 'admin'],
        after: (api: TestApi) => expect(api.engine.config('cam-1')).toMatchObject({ source: SECRET.source }),
      },
    ),
    row('refuses an existing id before any call of the engine', create(simple('cam-1')), 409, {
      given: (api) => api.given(simple('cam-1')),
      after: (api) => expect(api.engine.calls.filter((call) => call === 'check cam-1')).toHaveLength(1),
    }),
    refuses('answers the message of the engine for an unknown element', UNKNOWN_ELEMENT, 'no element \\"nosuchelement\\"'),
    row(
      'stores at once in the background, and goes on trying',
      [BACKGROUND, simple('cam-1')],
      201,
      ['"state":"ready"', '"phase":"starting"'],
      {
        given: (api) => api.engine.startFaults.set('cam-1', new ApiError('PIPELINE_START_TIMEOUT', 'No media.')),
        after: async (api, _response, text) => expect([await isStored(api), JSON.parse(text).runtime.desired]).toEqual([true, 'playing']),
      },
    ),
    row('refuses in the background what no attempt can mend', [BACKGROUND, UNKNOWN_ELEMENT], 400, { after: nothingLeft }),
    row('answers 503 with Retry-After when the engine is gone', create(simple('cam-1')), 503, {
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
          klv_config: { pass_klv: false, auto_extract_geolocation: false, synchronous: false },
          geolocation: null,
          screenshots: { state: 'stopped', interval_seconds: 10, quality: 85 },
          recording: { state: 'stopped', since: null, last_error: null },
          runtime: expect.objectContaining({ phase: 'playing', desired: 'playing', last_error: null, next_retry_at: null }),
          audio: 'copy',
          audio_bitrate: null,
          push: [],
          ephemeral: false,
          created_at: '2026-11-20T10:00:00.000Z',
          updated_at: '2026-11-20T10:00:00.000Z',
        })
        expect(Object.keys(body).join()).toBe(
          'id,mode,on_demand,state,source,encoding,output,klv,klv_config,audio,audio_bitrate,push,geolocation,screenshots,recording,runtime,ephemeral,created_at,updated_at',
        )
      },
    }),
    creates('infers the mode of a source', { id: 'cam-1', source: { uri: 'test://ball' } }, '"mode":"simple"'),
    creates('infers the mode of a description', { id: 'cam-1', ...SILENT }, '"mode":"advanced"'),
    refuses('infers no mode of both', { ...simple('cam-1'), ...SILENT, mode: undefined }, '"path":"mode"'),
    creates('does not start an on-demand pipeline', simple('cam-1', { on_demand: true }), ['"state":"ready"', '"desired":"ready"'], {
      after: (api: TestApi) => expect(api.engine.calls).not.toContain('play cam-1'),
    }),
    creates('fills in the defaults of an encoding', encoded({ codec: 'h265' }), '{"codec":"h265","bitrate":2000,"quality":7}'),
    creates(
      'answers a whole encoding in order',
      encoded({ quality: 1, fps: 29.97, height: 720, width: 1280, bitrate: 1500, codec: 'h264' }),
      '{"codec":"h264","bitrate":1500,"width":1280,"height":720,"fps":29.97,"quality":1}',
    ),
    creates('uses the given output address', simple('cam-1', OUTPUT), '"output":{"uri":"rtsp://0.0.0.0:8600/cam-1"}'),
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
    refuses('refuses an output address without pay0', advanced('cam-1', { ...SILENT, ...OUTPUT }), '"path":"output.uri"', 'pay0'),
    refuses(
      'refuses a push without pay0',
      advanced('cam-1', { ...SILENT, push: [{ uri: 'udp://10.0.0.9:5000' }] }),
      '"path":"push"',
      'pay0',
    ),
    refuses('refuses a masked source', simple('cam-1', { source: { uri: 'rtsp://***@10.0.0.5/stream' } }), 'source.uri', 'masked'),
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
  const SAID = { cause: 'rtsp://bob:pw@10.0.0.5/ said 401', tries: ['user-pw=pw'] }
  const REFUSED = new ApiError('ENGINE_ERROR', 'Could not open rtsp://bob:pw@10.0.0.5/', SAID)
  const LATE = new ApiError('PIPELINE_START_TIMEOUT', 'Too late.', { cause: 'refused' })
  testRowsOnAllHosts([fails('when the source does not answer in time', LATE, ['PIPELINE_START_TIMEOUT', '"cause":"refused"'])])
  testRows([
    fails('when the engine rejects it, and shows no credentials', REFUSED, ['ENGINE_ERROR', '***@10.0.0.5'], ['bob', 'pw@', '=pw']),
    fails('when the engine is lost during the start', new ApiError('SERVICE_UNAVAILABLE', 'The media engine is gone.'), []),
  ])

  it('when the database cannot store it', async () => {
    const api = await openApi()
    api.database.close()
    const response = await api.send('POST', '/svc/pipeline', simple('cam-1'))
    expect([response.status, api.engine.ids()]).toEqual([503, []])
    expect(await response.text()).not.toMatch(/sql|CLIENT_CLOSED/i)
  })

  it('when only the last step, the insert, fails', async () => {
    const api = await openApi()
    const { insert } = api.deps.pipelines
    api.deps.pipelines.insert = () => Promise.reject(new Error('SQLITE_FULL: database or disk is full'))
    const response = await api.send('POST', '/svc/pipeline', simple('cam-1'))
    expect([response.status, api.engine.ids()]).toEqual([500, []])
    expect(await response.text()).not.toContain('SQLITE')
    api.deps.pipelines.insert = insert
    expect(await statusOf(api)).toBe(201)
  })

  it('when the database has stored it, and its answer was lost', async () => {
    const api = await openApi()
    const { insert } = api.deps.pipelines
    api.deps.pipelines.insert = async (record) => {
      await insert(record)
      throw new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer.', { reason: 'database' })
    }
    expect(await statusOf(api)).toBe(503)
    await nothingLeft(api)
  })

  it('but not what another process has stored under its id meanwhile', async () => {
    const api = await openApi()
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
    const api = await openApi()
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(api)))
    expect(statuses.sort()).toEqual([201, ...Array(9).fill(409)])
    expect([api.engine.ids(), await api.deps.pipelines.count()]).toEqual([['cam-1'], 1])
  })

  it('do not remove a pipeline that another API process registered first', async () => {
    const api = await openApi()
    const other = await openApi((api) => api.given(simple('cam-1')))
    const config = other.engine.config('cam-1')
    if (config !== undefined) api.engine.plant(config, 'playing')
    expect([await statusOf(api), api.engine.ids()]).toEqual([409, ['cam-1']])
  })

  it('get a port each', async () => {
    const api = await openApi()
    const ids = Array.from({ length: 20 }, (_, index) => `cam-${index}`)
    await Promise.all(ids.map((id) => api.given(simple(id))))
    expect(new Set(ids.map((id) => api.engine.config(id)?.output?.uri)).size).toBe(20)
  })
})

describe('validating a pipeline', () => {
  testRowsOnAllHosts([
    row(
      'answers the launch line and creates nothing',
      ['POST /svc/pipeline/validate', SECRET],
      200,
      ['"valid":true', '"launch":"gst-launch'],
      {
        lacks: ['s3cret'],
        after: nothingLeft,
      },
    ),
    row('answers the 400 of a create', ['POST /svc/pipeline/validate', simple('a b')], 400, '"path":"id"'),
  ])
})

describe('testing a pipeline', () => {
  const tests = (body: object = SECRET) => ['POST /svc/pipeline/test', body] as const
  testRowsOnAllHosts([
    row('answers what came and a picture, and leaves nothing', tests(), 200, ['"video":null,"audio":null', '"picture":"/9j/'], {
      lacks: ['s3cret', 'test-'],
      after: nothingLeft,
    }),
  ])
  testRows([
    row('answers the 400 of a create', tests(simple('a b')), 400, '"path":"id"'),
    row('answers the fault of a start, and leaves nothing', tests(), 504, ['PIPELINE_START_TIMEOUT', 'of cam-1'], {
      given: ({ engine }) => {
        engine.play = async (id) => Promise.reject(new ApiError('PIPELINE_START_TIMEOUT', `No video of ${id} came.`, { reason: 'timeout' }))
      },
      after: nothingLeft,
    }),
  ])

  it('reads the source with the stored credentials, and sends nothing to receivers', async () => {
    const api = await openApi()
    await api.given({ ...SECRET, on_demand: true })
    const { put } = api.engine
    const tried: unknown[] = []
    api.engine.put = async (config, query) => {
      tried.push(config)
      return put(config, query)
    }
    const body = simple('cam-1', { source: { uri: 'rtsp://***@10.0.0.5/stream' }, push: [{ uri: 'udp://10.0.0.9:5000' }] })
    expect((await api.send('POST', '/svc/pipeline/test', body)).status).toBe(200)
    expect(tried).toMatchObject([{ source: SECRET.source, push: [], output: null }])
  })
})

describe('a missing element', () => {
  const ADVICE = 'No encoder for H.264 is installed. Install one: apt-get install gstreamer1.0-plugins-ugly'
  const body = simple('cam-1', { encoding: { codec: 'h264' }, on_demand: true })
  const requests = [
    ['POST /svc/pipeline', body],
    ['POST /svc/pipeline/validate', body],
    ['PUT /svc/pipeline/old', { ...body, id: 'old' }],
    ['PUT /svc/triggers/mediaServer/publish?path=cam-1', undefined, { 'x-api-key': API_KEY }],
  ] as const
  const given = async (api: TestApi) => {
    await api.given(simple('old', { on_demand: true }))
    api.engine.checkFault = new ApiError('ENGINE_ERROR', ADVICE, { cause: ADVICE, reason: 'missing_element' })
  }
  const answer = ['"code":"ENGINE_ERROR"', '"reason":"missing_element"', ADVICE]
  testRows(requests.map((request) => row(`${request[0]} says which package is missing`, request, 500, answer, { given })))
})
