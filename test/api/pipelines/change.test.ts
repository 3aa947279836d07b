import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../lib/errors.ts'
import { advanced, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { engineReplaced, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const PATH = '/svc/pipeline/cam-1'
const playing = (api: TestApi) => api.given(simple('cam-1'))
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const put = (body: unknown) => [`PUT ${PATH}`, body] as const
const patch = (body: unknown) => [`PATCH ${PATH}`, body] as const
const read = async (api: TestApi) => (await api.read(PATH)) as Record<string, unknown>
const expectIs = (expected: object) => async (api: TestApi) => expect(await read(api)).toMatchObject(expected)
const demanded = (more: object) => simple('cam-1', { on_demand: true, ...more })
const sourceOf = (uri: string) => ({ source: { uri, latency_ms: 50 } })
const SILENT = { mode: 'advanced', raw_pipeline: 'videotestsrc ! fakesink' }
const lost = () => new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer.', { reason: 'database' })

describe('replacing a pipeline', () => {
  testRowsOnAllHosts([
    row('accepts a body without id', put({ mode: 'simple', source: { uri: 'rtsp://h/' } }), 200, '"id":"cam-1"', { given: ready }),
    row('does not create a pipeline', put(simple('cam-1')), 404, {
      after: async (api) => expect(await api.deps.pipelines.count()).toBe(0),
    }),
    row('refuses to replace a playing pipeline', put(simple('cam-1', sourceOf('rtsp://user:pw@other/'))), 409, 'CONFLICT', {
      given: playing,
      lacks: ['stack', 'rtsp://user'],
      after: expectIs({ state: 'playing', source: { uri: 'rtsp://10.0.0.5/stream' } }),
    }),
    row('keeps the output address when none is given', put(simple('cam-1')), 200, 'rtsp://0.0.0.0:8600/cam-1', {
      given: (api) => api.given(demanded({ output: { uri: 'rtsp://0.0.0.0:8600/cam-1' } })),
    }),
  ])
  testRows([
    row('replaces the whole configuration and does not start it', put(simple('cam-1', sourceOf('rtsp://h/'))), 200, {
      given: async (api) => {
        await api.given(demanded({ encoding: { codec: 'h264' }, geolocation: { latitude: 1, longitude: 2 } }))
        api.time += 5000
      },
      after: async (api, _response, text) => {
        const times = { created_at: '2026-11-20T10:00:00.000Z', updated_at: '2026-11-20T10:00:05.000Z' }
        const replaced = { encoding: null, geolocation: null, on_demand: false, state: 'ready', ...times }
        expect(JSON.parse(text)).toMatchObject({ ...sourceOf('rtsp://h/'), ...replaced })
        expect(await read(api)).toEqual(JSON.parse(text))
      },
    }),
    row('refuses another id in the body', put(simple('cam-2')), 400, '"path":"id"', { given: ready }),
    row('moves the output when another is given', put(demanded({ output: { uri: 'rtsp://0.0.0.0:8601/cam-1' } })), 200, ':8601/cam-1', {
      given: ready,
    }),
    row('removes the output of a description that publishes nothing', put(SILENT), 200, '"mode":"advanced"', {
      given: ready,
      lacks: ['"output"', '"source"'],
    }),
    row('assigns an output when the description begins to publish', put(advanced('cam-1')), 200, 'rtsp://0.0.0.0:50000/cam-1', {
      given: (api) => api.given({ id: 'cam-1', on_demand: true, ...SILENT }),
    }),
    row('refuses an invalid body', put(simple('cam-1', { colour: 1 })), 400, '"path":"colour"', { given: ready }),
    row('changes nothing when the engine refuses it', put({ mode: 'advanced', raw_pipeline: 'nosuchelement' }), 400, {
      given: ready,
      after: expectIs({ mode: 'simple' }),
    }),
    row('refuses another source whose credentials are still masked', put(demanded(sourceOf('rtsp://***@10.0.0.5/b'))), 400, 'masked', {
      given: (api) => api.given(demanded(sourceOf('rtsp://admin:s3cret@10.0.0.5/a'))),
      after: (api) => expect(api.engine.config('cam-1')).toMatchObject(sourceOf('rtsp://admin:s3cret@10.0.0.5/a')),
    }),
  ])

  const described = (raw_pipeline: string) => advanced('cam-1', { on_demand: true, raw_pipeline })
  it.each([
    ['simple', demanded({ encoding: { codec: 'h264', width: 640, height: 480 }, geolocation: { latitude: 1, longitude: 2, heading: 3 } })],
    ['simple with credentials', demanded(sourceOf('rtsp://admin:s3cret@10.0.0.5/a?token=abc'))],
    [
      'simple with pushes that differ in their credentials alone',
      demanded({ push: ['s3cret1', 's3cret2'].map((secret) => ({ uri: `srt://10.0.0.9:9000?streamid=publish:${secret}` })) }),
    ],
    ['simple from a host that is named like a secret', demanded(sourceOf('rtsp://auth:554/a'))],
    [
      'advanced with credentials',
      described('rtspsrc location=rtsp://h/ user-id=bob user-pw="s3 cret" ! rtph264depay ! rtph264pay name=pay0'),
    ],
    ['advanced without output', described('videotestsrc ! fakesink')],
  ])('accepts a pipeline as it was read: %s', async (_, body) => {
    const api = await openApi((api) => api.given(body))
    const [held, before] = [api.engine.config('cam-1'), await read(api)]
    expect(JSON.stringify(before)).not.toMatch(/s3 ?cret|token=abc/)
    api.time += 1000
    const response = await api.send('PUT', PATH, before)
    expect([response.status, await response.json()]).toEqual([200, before])
    expect(api.engine.config('cam-1')).toEqual(held)
  })

  it('keeps the credentials of pushes that were moved, added or removed', async () => {
    const api = await openApi()
    const [srt, rtmp] = ['srt://10.0.0.9:9000?passphrase=correct-horse', 'rtmp://admin:s3cret@10.0.0.9/live/key']
    await api.given(demanded({ push: [{ uri: srt }, { uri: rtmp }] }))
    const { push } = (await read(api)) as { push: { uri: string }[] }
    expect(push).toEqual([{ uri: 'srt://10.0.0.9:9000?passphrase=***' }, { uri: 'rtmp://***@10.0.0.9/live/key' }])
    const moved = [...push, { uri: 'udp://10.0.0.9:5000' }].reverse()
    expect((await api.send('PUT', PATH, demanded({ push: moved }))).status).toBe(200)
    expect(api.engine.config('cam-1')).toMatchObject({ push: [{ uri: 'udp://10.0.0.9:5000' }, { uri: rtmp }, { uri: srt }] })
    const unknown = await api.send('PUT', PATH, simple('cam-1', { push: [{ uri: 'rtmp://***@10.0.0.8/live/key' }] }))
    expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining('push.0.uri')])
  })

  it('gives the engine the old configuration back when the database cannot store the new one', async () => {
    const api = await openApi(ready)
    const before = api.engine.config('cam-1')
    api.deps.pipelines.replace = () => Promise.reject(new Error('disk full'))
    expect((await api.send('PUT', PATH, simple('cam-1', { source: { uri: 'rtsp://10.9.9.9/' } }))).status).toBe(500)
    expect(api.engine.config('cam-1')).toEqual(before)
  })

  it('plays what the database has stored, also when its answer was lost', async () => {
    const api = await openApi(ready)
    const { replace } = api.deps.pipelines
    api.deps.pipelines.replace = async (...change) => {
      await replace(...change)
      throw lost()
    }
    expect((await api.send('PUT', PATH, demanded({ source: { uri: 'test://snow' } }))).status).toBe(503)
    expect([await read(api), api.engine.config('cam-1')]).toMatchObject(Array(2).fill({ source: { uri: 'test://snow' } }))
  })

  it('keeps engine and database consistent after concurrent replaces and deletes', async () => {
    const api = await openApi(ready)
    const body = (index: number) => demanded({ source: { uri: `rtsp://10.0.0.${index}/` } })
    const work = Array.from({ length: 30 }, (_, index) => {
      if (index % 3 === 0) return api.send('DELETE', PATH)
      return index % 3 === 1 ? api.send('POST', '/svc/pipeline', body(index)) : api.send('PUT', PATH, body(index))
    })
    const statuses = (await Promise.all(work)).map(({ status }) => status)
    expect(statuses.filter((status) => ![200, 201, 204, 404, 409].includes(status))).toEqual([])
    expect(api.engine.config('cam-1')).toEqual((await api.deps.pipelines.find('cam-1'))?.config)
  })
})

describe('patching a pipeline', () => {
  const geolocation = { latitude: 60.1, longitude: 24.9, altitude: 12, heading: 359.5 }
  testRowsOnAllHosts([
    row('removes the geolocation with null', patch({ geolocation: null }), 200, '"geolocation":null', {
      given: (api) => api.given(simple('cam-1', { geolocation })),
      after: expectIs({ geolocation: null }),
    }),
    row('refuses an empty body', patch(undefined), 400, 'VALIDATION_ERROR', { given: playing }),
    row('answers 404 for an unknown id', patch({ geolocation: null }), 404),
  ])
  testRows([
    row('sets it, also while the pipeline plays', patch({ geolocation }), 200, ['"state":"playing"', '10:00:01.000Z"'], {
      given: async (api) => {
        await playing(api)
        api.time += 1000
      },
      after: expectIs({ geolocation, updated_at: '2026-11-20T10:00:01.000Z' }),
    }),
    row('refuses an empty change', patch({}), 400, '"path":"geolocation"', { given: playing }),
    row('refuses another field', patch({ geolocation: null, on_demand: true }), 400, '"path":"on_demand"', { given: playing }),
    row('refuses one out of bounds', patch({ geolocation: { latitude: 91, longitude: 0 } }), 400, 'latitude', { given: playing }),
  ])
})

describe('deleting a pipeline', () => {
  testRowsOnAllHosts([
    row('removes it from database and engine', `DELETE ${PATH}`, 204, {
      given: ready,
      after: async (api, _response, text) => expect([text, api.engine.ids(), (await api.send('GET', PATH)).status]).toEqual(['', [], 404]),
    }),
    row('refuses while it plays', `DELETE ${PATH}`, 409, '"code":"CONFLICT"', { given: playing, after: expectIs({ state: 'playing' }) }),
    row('answers 404 for an unknown id', `DELETE ${PATH}`, 404),
  ])
  testRows([row('works also when the engine does not know the pipeline', `DELETE ${PATH}`, 204, { given: engineReplaced(playing) })])

  it('leaves it to its readers when the database cannot remove it', async () => {
    const api = await openApi(ready)
    const before = api.engine.config('cam-1')
    const { remove } = api.deps.pipelines
    api.deps.pipelines.remove = () => Promise.reject(lost())
    expect((await api.send('DELETE', PATH)).status).toBe(503)
    expect(api.engine.config('cam-1')).toEqual(before)
    // What is removed, though the answer was lost, does not come back.
    api.deps.pipelines.remove = async (id) => {
      await remove(id)
      throw lost()
    }
    expect((await api.send('DELETE', PATH)).status).toBe(503)
    expect(api.engine.ids()).toEqual([])
  })
})
