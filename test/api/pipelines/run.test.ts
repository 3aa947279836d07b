import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../lib/errors.ts'
import { openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { engineReplaced, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const playing = (api: TestApi) => api.given(simple('cam-1'))
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const PLAY = 'PUT /svc/pipeline/cam-1/play'
const STOP = 'PUT /svc/pipeline/cam-1/stop'
const stopped = async (api: TestApi) => {
  await playing(api)
  await send(api, 'stop')
}
const send = (api: TestApi, action: 'play' | 'stop', id = 'cam-1') => api.send('PUT', `/svc/pipeline/${id}/${action}`)
const statusOf = async (api: TestApi, action: 'play' | 'stop', id?: string) => (await send(api, action, id)).status
const expectDesired = (desired: string, stopped?: boolean) => async (api: TestApi) =>
  expect(await api.deps.pipelines.find('cam-1')).toMatchObject({ desired, ...(stopped !== undefined && { stopped }) })

describe('playing a pipeline', () => {
  const failing = (fault: ApiError) => async (api: TestApi) => {
    await ready(api)
    api.engine.startFaults.set('cam-1', fault)
  }
  testRowsOnAllHosts([
    row('answers the playing pipeline and stores the desired state', PLAY, 200, '"state":"playing"', {
      given: ready,
      after: expectDesired('playing'),
    }),
    row(
      'answers at once in the background, and goes on trying',
      `${PLAY}?start=background`,
      200,
      ['"state":"ready"', '"phase":"starting"'],
      {
        given: failing(new ApiError('PIPELINE_START_TIMEOUT', 'No media.')),
      },
    ),
    row('answers 404 for an unknown id', PLAY, 404, 'NOT_FOUND'),
    row('answers 504 when no media arrives, and shows the pipeline as ready', PLAY, 504, '"cause":"nothing came"', {
      given: failing(new ApiError('PIPELINE_START_TIMEOUT', 'No media.', { cause: 'nothing came' })),
      after: async (api) => {
        expect(await api.read('/svc/pipeline/cam-1')).toMatchObject({ state: 'ready', runtime: { phase: 'failed' } })
        await expectDesired('ready')(api)
      },
    }),
    row('registers a pipeline again that the engine does not know', PLAY, 200, '"state":"playing"', { given: engineReplaced(ready) }),
  ])
  testRows([
    row('leaves one alone that plays already', PLAY, 200, '"state":"playing"', { given: playing }),
    row('refuses another way to start', `${PLAY}?start=later`, 400, 'Use one of: wait, background', { given: ready }),
    row('ends what a stop has begun', PLAY, 200, { given: stopped, after: expectDesired('playing', false) }),
    row('leaves what was stopped as it was when it fails', PLAY, 500, {
      given: async (api) => {
        await stopped(api)
        api.engine.startFaults.set('cam-1', new ApiError('ENGINE_ERROR', 'No.'))
      },
      after: expectDesired('ready', true),
    }),
    row('ignores a body', [PLAY, 'not json'], 200, { given: ready }),
    row('answers 400 for an id outside the pattern', 'PUT /svc/pipeline/a%20b/play', 400),
    row('answers 500 with the cause when the engine fails', PLAY, 500, ['"code":"ENGINE_ERROR"', '"cause":"401 at rtsp://***@h/"'], {
      given: failing(new ApiError('ENGINE_ERROR', 'The source refused.', { cause: '401 at rtsp://u:p@h/' })),
      lacks: ['u:p'],
    }),
  ])

  /** A start that goes on when the gate is opened. */
  const gated = async () => {
    const api = await openApi(ready)
    const { promise, resolve } = Promise.withResolvers<void>()
    api.engine.startGates.set('cam-1', promise)
    return { api, open: resolve }
  }

  it('starts one run for two concurrent plays', async () => {
    const { api, open } = await gated()
    const answers = [statusOf(api, 'play'), statusOf(api, 'play')]
    open()
    expect(await Promise.all(answers)).toEqual([200, 200])
  })

  it('is cancelled by a stop', async () => {
    const { api, open } = await gated()
    const started = statusOf(api, 'play')
    const stopped = await statusOf(api, 'stop')
    open()
    expect([stopped, (await started) >= 400]).toEqual([200, true])
    await expectDesired('ready', true)(api)
    expect(await api.read('/svc/pipeline/cam-1')).toMatchObject({ state: 'ready' })
  })
})

describe('stopping a pipeline', () => {
  testRowsOnAllHosts([
    row('answers the ready pipeline and stores the desired state', STOP, 200, '"state":"ready"', {
      given: playing,
      after: expectDesired('ready', true),
    }),
    row('answers 404 for an unknown id', STOP, 404),
  ])
  testRows([row('leaves one alone that is ready', STOP, 200, '"state":"ready"', { given: ready })])
})

describe('the license', () => {
  const H264_ONLY = { licensee: 'Someone', codecs: ['h264'], max_streams: 2, expires: '2026-12-31' }
  const licensed =
    (license: unknown, given: (api: TestApi) => Promise<unknown> = async () => undefined) =>
    async (api: TestApi) => {
      await given(api)
      api.license = typeof license === 'string' ? license : JSON.stringify(license)
    }
  const h265 = (more: object) => simple('a', { encoding: { codec: 'h265' }, ...more })
  const twoPlaying = async (api: TestApi) => {
    for (const id of ['one', 'two']) await api.given(simple(id))
  }
  const three = async (api: TestApi) => {
    await twoPlaying(api)
    await api.given(simple('three', { on_demand: true }))
  }
  const create = (body: unknown) => ['POST /svc/pipeline', body] as const
  const ADVANCED = { id: 'a', mode: 'advanced', raw_pipeline: 'videotestsrc!x265enc!rtph265pay name=pay0' }

  testRows([
    row('allows a licensed codec', create(simple('a', { encoding: { codec: 'h264' } })), 201, { given: licensed(H264_ONLY) }),
    row('allows a stream that is not encoded', create(simple('a')), 201, { given: licensed({ ...H264_ONLY, codecs: [] }) }),
    row(
      'refuses another codec at create, also of an on-demand pipeline',
      create(h265({ on_demand: true })),
      402,
      ['"code":"LICENSE_ERROR"', '"codec":"h265"'],
      {
        given: licensed(H264_ONLY),
        after: (api) => expect(api.engine.ids()).toEqual([]),
      },
    ),
    row('refuses another codec at play', 'PUT /svc/pipeline/a/play', 402, 'LICENSE_ERROR', {
      given: licensed(H264_ONLY, (api) => api.given(h265({ on_demand: true }))),
    }),
    row('covers the encoder of an advanced pipeline', create(ADVANCED), 402, '"codec":"h265"', { given: licensed(H264_ONLY) }),
    row('refuses one stream too many at create, and stores nothing', create(simple('three')), 402, ['LIMIT_EXCEEDED', '"max_streams":2'], {
      given: licensed(H264_ONLY, twoPlaying),
      after: (api) => expect(api.engine.ids()).toEqual(['one', 'two']),
    }),
    row('does not count an on-demand pipeline at create', create(simple('three', { on_demand: true })), 201, {
      given: licensed(H264_ONLY, twoPlaying),
    }),
    row('refuses one stream too many at play', 'PUT /svc/pipeline/three/play', 402, 'LICENSE_LIMIT_EXCEEDED', {
      given: licensed(H264_ONLY, three),
    }),
    row('allows play of a playing pipeline at the limit', 'PUT /svc/pipeline/two/play', 200, { given: licensed(H264_ONLY, twoPlaying) }),
    row('allows no codec after its last day', PLAY, 402, ['LICENSE_ERROR', 'expired'], {
      given: licensed({ ...H264_ONLY, expires: '2026-11-19' }, ready),
    }),
    row('allows no codec when it cannot be read', PLAY, 402, ['LICENSE_ERROR', 'unreadable'], { given: licensed('{ "licensee": ', ready) }),
  ])

  it('counts exactly with many concurrent starts, and takes effect at once when its file changes', async () => {
    const api = await openApi()
    const ids = Array.from({ length: 20 }, (_, index) => `cam-${index}`)
    for (const id of ids) await api.given(simple(id, { on_demand: true }))
    api.license = JSON.stringify({ ...H264_ONLY, max_streams: 7 })
    const statuses = await Promise.all(ids.map((id) => statusOf(api, 'play', id)))
    expect(statuses.sort()).toEqual([...Array(7).fill(200), ...Array(13).fill(402)])
    api.license = JSON.stringify({ ...H264_ONLY, max_streams: 20 })
    expect(await Promise.all(ids.map((id) => statusOf(api, 'play', id)))).toEqual(Array(20).fill(200))
  })

  it('frees the slot of a failed start', async () => {
    const api = await openApi()
    for (const id of ['a', 'b']) await api.given(simple(id, { on_demand: true }))
    api.license = JSON.stringify({ ...H264_ONLY, max_streams: 1 })
    api.engine.startFaults.set('a', new ApiError('ENGINE_ERROR', 'No.'))
    expect([await statusOf(api, 'play', 'a'), await statusOf(api, 'play', 'b'), await statusOf(api, 'stop', 'b')]).toEqual([500, 200, 200])
    api.engine.startFaults.clear()
    expect(await statusOf(api, 'play', 'a')).toBe(200)
  })
})
