import { describe, expect, it } from 'vitest'
import { ApiError } from '../../lib/errors.ts'
import { createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { testRows } from './api-rows.ts'

const playing = (api: TestApi) => api.given(simple('cam-1'))
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const play = (id = 'cam-1') => ['PUT', `/svc/pipeline/${id}/play`] as const
const stop = (id = 'cam-1') => ['PUT', `/svc/pipeline/${id}/stop`] as const
const desired = async (api: TestApi, id = 'cam-1') => (await api.deps.pipelines.find(id))?.desired

describe('playing a pipeline', () => {
  testRows([
    {
      name: 'answers the playing pipeline and stores the desired state',
      given: ready,
      request: play(),
      status: 200,
      contains: ['"state":"playing"'],
      after: async (api) => expect(await desired(api)).toBe('playing'),
    },
    { name: 'leaves one alone that plays already', given: playing, request: play(), status: 200, contains: ['"state":"playing"'] },
    { name: 'ignores a body', given: ready, request: ['PUT', '/svc/pipeline/cam-1/play', 'not json'], status: 200 },
    { name: 'answers 404 for an unknown id', request: play(), status: 404, contains: ['NOT_FOUND'] },
    { name: 'answers 400 for an id outside the pattern', request: play('a%20b'), status: 400 },
    {
      name: 'answers 504 when no media arrives, and shows the pipeline as ready',
      given: async (api) => {
        await ready(api)
        api.engine.startFaults.set('cam-1', new ApiError('PIPELINE_START_TIMEOUT', 'No media.', { cause: 'nothing came' }))
      },
      request: play(),
      status: 504,
      contains: ['PIPELINE_START_TIMEOUT', '"cause":"nothing came"'],
      after: async (api) => {
        expect(await (await api.send('GET', '/svc/pipeline/cam-1')).json()).toMatchObject({ state: 'ready', runtime: { phase: 'failed' } })
        expect(await desired(api)).toBe('ready')
      },
    },
    {
      name: 'answers 500 ENGINE_ERROR with the cause when the engine fails',
      given: async (api) => {
        await ready(api)
        api.engine.startFaults.set('cam-1', new ApiError('ENGINE_ERROR', 'The source refused.', { cause: '401 at rtsp://u:p@h/' }))
      },
      request: play(),
      status: 500,
      contains: ['"code":"ENGINE_ERROR"', '"cause":"401 at rtsp://***@h/"'],
      lacks: ['u:p'],
    },
    {
      name: 'registers a pipeline again that the engine does not know',
      given: async (api) => {
        await ready(api)
        api.engine.restart()
      },
      request: play(),
      status: 200,
      contains: ['"state":"playing"'],
    },
  ])

  it('starts one run for two concurrent plays', async () => {
    await using api = await createTestApi()
    await ready(api)
    const { promise, resolve } = Promise.withResolvers<void>()
    api.engine.startGates.set('cam-1', promise)
    const answers = [api.send(...play()), api.send(...play())]
    resolve()
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200])
  })

  it('is cancelled by a stop', async () => {
    await using api = await createTestApi()
    await ready(api)
    const { promise, resolve } = Promise.withResolvers<void>()
    api.engine.startGates.set('cam-1', promise)
    const started = api.send(...play())
    const stopped = await api.send(...stop())
    resolve()
    expect(stopped.status).toBe(200)
    expect((await started).status).toBeGreaterThanOrEqual(400)
    expect(await desired(api)).toBe('ready')
    expect(await (await api.send('GET', '/svc/pipeline/cam-1')).json()).toMatchObject({ state: 'ready' })
  })
})

describe('stopping a pipeline', () => {
  testRows([
    {
      name: 'answers the ready pipeline and stores the desired state',
      given: playing,
      request: stop(),
      status: 200,
      contains: ['"state":"ready"'],
      after: async (api) => expect(await desired(api)).toBe('ready'),
    },
    { name: 'leaves one alone that is ready', given: ready, request: stop(), status: 200, contains: ['"state":"ready"'] },
    { name: 'answers 404 for an unknown id', request: stop(), status: 404 },
  ])
})

const licensed =
  (license: unknown, more: (api: TestApi) => Promise<unknown> = async () => undefined) =>
  async (api: TestApi) => {
    await more(api)
    api.license = typeof license === 'string' ? license : JSON.stringify(license)
  }
const h264Only = { licensee: 'Someone', codecs: ['h264'], max_streams: 2, expires: '2026-12-31' }
const h265 = (id: string, more = {}) => simple(id, { encoding: { codec: 'h265' }, ...more })
const twoPlaying = async (api: TestApi) => {
  await api.given(simple('one'))
  await api.given(simple('two'))
}

describe('the license', () => {
  testRows([
    {
      name: 'allows a licensed codec',
      given: licensed(h264Only),
      request: ['POST', '/svc/pipeline', simple('a', { encoding: { codec: 'h264' } })],
      status: 201,
    },
    {
      name: 'allows a stream that is not encoded',
      given: licensed({ ...h264Only, codecs: [] }),
      request: ['POST', '/svc/pipeline', simple('a')],
      status: 201,
    },
    {
      name: 'refuses another codec at create',
      inProcess: true,
      given: licensed(h264Only),
      request: ['POST', '/svc/pipeline', h265('a')],
      status: 402,
      contains: ['"code":"LICENSE_ERROR"', '"codec":"h265"'],
      after: (api) => expect(api.engine.ids()).toEqual([]),
    },
    {
      name: 'refuses another codec at the create of an on-demand pipeline',
      inProcess: true,
      given: licensed(h264Only),
      request: ['POST', '/svc/pipeline', h265('a', { on_demand: true })],
      status: 402,
      contains: ['LICENSE_ERROR'],
    },
    {
      name: 'refuses another codec at play',
      inProcess: true,
      given: licensed(h264Only, (api) => api.given(h265('a', { on_demand: true }))),
      request: play('a'),
      status: 402,
      contains: ['LICENSE_ERROR'],
    },
    {
      name: 'covers the encoder of an advanced pipeline',
      inProcess: true,
      given: licensed(h264Only),
      request: ['POST', '/svc/pipeline', { id: 'a', mode: 'advanced', raw_pipeline: 'videotestsrc!x265enc!rtph265pay name=pay0' }],
      status: 402,
      contains: ['"codec":"h265"'],
    },
    {
      name: 'refuses one stream too many at create, and stores nothing',
      inProcess: true,
      given: licensed(h264Only, twoPlaying),
      request: ['POST', '/svc/pipeline', simple('three')],
      status: 402,
      contains: ['"code":"LICENSE_LIMIT_EXCEEDED"', '"max_streams":2'],
      after: (api) => expect(api.engine.ids()).toEqual(['one', 'two']),
    },
    {
      name: 'does not count an on-demand pipeline at create',
      given: licensed(h264Only, twoPlaying),
      request: ['POST', '/svc/pipeline', simple('three', { on_demand: true })],
      status: 201,
    },
    {
      name: 'refuses one stream too many at play',
      inProcess: true,
      given: licensed(h264Only, async (api) => {
        await twoPlaying(api)
        await api.given(simple('three', { on_demand: true }))
      }),
      request: play('three'),
      status: 402,
      contains: ['LICENSE_LIMIT_EXCEEDED'],
    },
    {
      name: 'allows play of a playing pipeline at the limit',
      given: licensed(h264Only, twoPlaying),
      request: play('two'),
      status: 200,
    },
    {
      name: 'ends on the day after its expiry date',
      inProcess: true,
      given: licensed({ ...h264Only, expires: '2026-11-19' }, ready),
      request: play(),
      status: 402,
      contains: ['LICENSE_ERROR', 'expired'],
    },
    {
      name: 'is valid on the day it expires',
      inProcess: true,
      given: licensed({ ...h264Only, expires: '2026-11-20' }, ready),
      request: play(),
      status: 200,
    },
    {
      name: 'allows no codec when it cannot be read',
      inProcess: true,
      given: licensed('{ "licensee": ', ready),
      request: play(),
      status: 402,
      contains: ['LICENSE_ERROR', 'unreadable'],
    },
    {
      name: 'allows no codec when it is not a license',
      inProcess: true,
      given: licensed({ codecs: 'all' }, ready),
      request: play(),
      status: 402,
      contains: ['LICENSE_ERROR'],
    },
  ])

  it('counts exactly with many concurrent starts', async () => {
    await using api = await createTestApi()
    const ids = Array.from({ length: 20 }, (_, index) => `cam-${index}`)
    for (const id of ids) await api.given(simple(id, { on_demand: true }))
    api.license = JSON.stringify({ ...h264Only, max_streams: 7 })
    const statuses = (await Promise.all(ids.map((id) => api.send(...play(id))))).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(7)
    expect(statuses.filter((status) => status === 402)).toHaveLength(13)
  })

  it('frees the slot of a failed start', async () => {
    await using api = await createTestApi()
    for (const id of ['a', 'b']) await api.given(simple(id, { on_demand: true }))
    api.license = JSON.stringify({ ...h264Only, max_streams: 1 })
    api.engine.startFaults.set('a', new ApiError('ENGINE_ERROR', 'No.'))
    expect((await api.send(...play('a'))).status).toBe(500)
    expect((await api.send(...play('b'))).status).toBe(200)
    expect((await api.send(...stop('b'))).status).toBe(200)
    api.engine.startFaults.clear()
    expect((await api.send(...play('a'))).status).toBe(200)
  })

  it('takes effect at once when its file changes', async () => {
    await using api = await createTestApi()
    await twoPlaying(api)
    api.license = JSON.stringify(h264Only)
    expect((await api.send('POST', '/svc/pipeline', simple('three'))).status).toBe(402)
    api.license = JSON.stringify({ ...h264Only, max_streams: 3 })
    expect((await api.send('POST', '/svc/pipeline', simple('three'))).status).toBe(201)
  })
})
