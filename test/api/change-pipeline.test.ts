import { describe, expect, it } from 'vitest'
import { ApiError } from '../../lib/errors.ts'
import { advanced, createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { testRows } from './api-rows.ts'

const playing = (api: TestApi) => api.given(simple('cam-1'))
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const put = (body: unknown, id = 'cam-1') => ['PUT', `/svc/pipeline/${id}`, body] as const
const patch = (body: unknown, id = 'cam-1') => ['PATCH', `/svc/pipeline/${id}`, body] as const
const read = async (api: TestApi, id = 'cam-1') => (await (await api.send('GET', `/svc/pipeline/${id}`)).json()) as Record<string, unknown>

describe('replacing a pipeline', () => {
  testRows([
    {
      name: 'replaces the whole configuration and does not start it',
      inProcess: true,
      given: async (api) => {
        await api.given(simple('cam-1', { on_demand: true, encoding: { codec: 'h264' }, geolocation: { latitude: 1, longitude: 2 } }))
        api.time += 5000
      },
      request: put(simple('cam-1', { source: { uri: 'rtsp://10.0.0.9/other', latency_ms: 0 } })),
      status: 200,
      contains: [
        '"uri":"rtsp://10.0.0.9/other","latency_ms":0',
        '"encoding":null',
        '"geolocation":null',
        '"on_demand":false',
        '"state":"ready"',
        '"created_at":"2026-11-20T10:00:00.000Z"',
        '"updated_at":"2026-11-20T10:00:05.000Z"',
      ],
      after: async (api, _response, text) => expect(await read(api)).toEqual(JSON.parse(text)),
    },
    {
      name: 'accepts a body without id',
      given: ready,
      request: put({ mode: 'simple', source: { uri: 'rtsp://h/' } }),
      status: 200,
      contains: ['"id":"cam-1"'],
    },
    { name: 'refuses another id in the body', given: ready, request: put(simple('cam-2')), status: 400, contains: ['"path":"id"'] },
    {
      name: 'does not create a pipeline',
      request: put(simple('cam-1')),
      status: 404,
      contains: ['NOT_FOUND'],
      after: async (api) => expect(await api.deps.pipelines.count()).toBe(0),
    },
    {
      name: 'refuses to replace a playing pipeline',
      given: playing,
      request: put(simple('cam-1', { source: { uri: 'rtsp://user:pw@other/' } })),
      status: 409,
      contains: ['"code":"CONFLICT"'],
      lacks: ['stack', 'rtsp://user'],
      after: async (api) => expect(await read(api)).toMatchObject({ state: 'playing', source: { uri: 'rtsp://10.0.0.5/stream' } }),
    },
    {
      name: 'keeps the output address when none is given',
      given: (api) => api.given(simple('cam-1', { on_demand: true, output: { uri: 'rtsp://0.0.0.0:8600/cam-1' } })),
      request: put(simple('cam-1')),
      status: 200,
      contains: ['rtsp://0.0.0.0:8600/cam-1'],
    },
    {
      name: 'moves the output when another is given',
      given: ready,
      request: put(simple('cam-1', { output: { uri: 'rtsp://0.0.0.0:8601/cam-1' } })),
      status: 200,
      contains: ['rtsp://0.0.0.0:8601/cam-1'],
    },
    {
      name: 'removes the output of a description that publishes nothing',
      given: ready,
      request: put({ mode: 'advanced', raw_pipeline: 'videotestsrc ! fakesink' }),
      status: 200,
      lacks: ['"output"', '"source"'],
      contains: ['"mode":"advanced"'],
    },
    {
      name: 'assigns an output when the description begins to publish',
      given: (api) => api.given(advanced('cam-1', { on_demand: true, raw_pipeline: 'videotestsrc ! fakesink' })),
      request: put(advanced('cam-1')),
      status: 200,
      contains: ['rtsp://0.0.0.0:50000/cam-1'],
    },
    {
      name: 'refuses an invalid body',
      given: ready,
      request: put(simple('cam-1', { colour: 1 })),
      status: 400,
      contains: ['"path":"colour"'],
    },
    {
      name: 'changes nothing when the engine refuses the description',
      given: ready,
      request: put({ mode: 'advanced', raw_pipeline: 'nosuchelement' }),
      status: 400,
      after: async (api) => expect(await read(api)).toMatchObject({ mode: 'simple' }),
    },
  ])

  for (const [name, body] of [
    [
      'simple',
      simple('cam-1', {
        on_demand: true,
        encoding: { codec: 'h264', width: 640, height: 480 },
        geolocation: { latitude: 1, longitude: 2, heading: 3 },
      }),
    ],
    [
      'simple with credentials',
      simple('cam-1', { on_demand: true, source: { uri: 'rtsp://admin:s3cret@10.0.0.5/a?token=abc', latency_ms: 50 } }),
    ],
    [
      'simple with pushes that differ in their credentials alone',
      simple('cam-1', {
        on_demand: true,
        push: [{ uri: 'srt://10.0.0.9:9000?streamid=publish:s3cret1' }, { uri: 'srt://10.0.0.9:9000?streamid=publish:s3cret2' }],
      }),
    ],
    ['simple from a host that is called as a secret', simple('cam-1', { on_demand: true, source: { uri: 'rtsp://auth:554/a' } })],
    ['advanced', advanced('cam-1', { on_demand: true })],
    [
      'advanced with credentials',
      advanced('cam-1', {
        on_demand: true,
        raw_pipeline: 'rtspsrc location=rtsp://h/ user-id=bob user-pw="s3 cret" ! rtph264depay ! rtph264pay name=pay0',
      }),
    ],
    ['advanced without output', advanced('cam-1', { on_demand: true, raw_pipeline: 'videotestsrc ! fakesink' })],
  ] as const) {
    it(`accepts a pipeline as it was read: ${name}`, async () => {
      await using api = await createTestApi()
      await api.given(body)
      const held = api.engine.config('cam-1')
      const before = await read(api)
      expect(JSON.stringify(before)).not.toMatch(/s3 ?cret|token=abc/)
      api.time += 1000
      const response = await api.send('PUT', '/svc/pipeline/cam-1', before)
      const updated_at = new Date(api.time).toISOString()
      expect({ ...((await response.json()) as object), status: response.status }).toEqual({ ...before, updated_at, status: 200 })
      expect(api.engine.config('cam-1')).toEqual(held)
    })
  }

  it('keeps the credentials of pushes that were moved, added or removed', async () => {
    await using api = await createTestApi()
    const [srt, rtmp] = ['srt://10.0.0.9:9000?passphrase=correct-horse', 'rtmp://admin:s3cret@10.0.0.9/live/key']
    await api.given(simple('cam-1', { on_demand: true, push: [{ uri: srt }, { uri: rtmp }] }))
    const { push } = (await read(api)) as { push: { uri: string }[] }
    expect(push).toEqual([{ uri: 'srt://10.0.0.9:9000?passphrase=***' }, { uri: 'rtmp://***@10.0.0.9/live/key' }])
    const moved = [...push, { uri: 'udp://10.0.0.9:5000' }].reverse()
    expect((await api.send('PUT', '/svc/pipeline/cam-1', simple('cam-1', { on_demand: true, push: moved }))).status).toBe(200)
    expect(api.engine.config('cam-1')).toMatchObject({ push: [{ uri: 'udp://10.0.0.9:5000' }, { uri: rtmp }, { uri: srt }] })
    const unknown = await api.send('PUT', '/svc/pipeline/cam-1', simple('cam-1', { push: [{ uri: 'rtmp://***@10.0.0.8/live/key' }] }))
    expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining('push.0.uri')])
  })

  it('refuses an edited source whose credentials are still masked', async () => {
    await using api = await createTestApi()
    await api.given(simple('cam-1', { on_demand: true, source: { uri: 'rtsp://admin:s3cret@10.0.0.5/a' } }))
    const response = await api.send('PUT', '/svc/pipeline/cam-1', simple('cam-1', { source: { uri: 'rtsp://***@10.0.0.5/b' } }))
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('masked')])
    expect(api.engine.config('cam-1')).toMatchObject({ source: { uri: 'rtsp://admin:s3cret@10.0.0.5/a' } })
  })

  it('restores the old configuration when the database cannot store the new one', async () => {
    await using api = await createTestApi()
    await ready(api)
    const before = api.engine.config('cam-1')
    api.deps.pipelines.replace = async () => {
      throw new Error('disk full')
    }
    expect((await api.send('PUT', '/svc/pipeline/cam-1', simple('cam-1', { source: { uri: 'rtsp://10.9.9.9/' } }))).status).toBe(500)
    expect(api.engine.config('cam-1')).toEqual(before)
  })

  it('plays what the database has stored, also when its answer was lost', async () => {
    await using api = await createTestApi()
    await api.given(simple('cam-1', { on_demand: true }))
    const replace = api.deps.pipelines.replace
    api.deps.pipelines.replace = async (...change) => {
      await replace(...change)
      throw new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer.', { reason: 'database' })
    }
    const other = { ...simple('cam-1', { on_demand: true }), source: { uri: 'test://snow' } }
    expect((await api.send('PUT', '/svc/pipeline/cam-1', other)).status).toBe(503)
    expect(await (await api.send('GET', '/svc/pipeline/cam-1')).json()).toMatchObject({ source: { uri: 'test://snow' } })
    expect(api.engine.config('cam-1')).toMatchObject({ source: { uri: 'test://snow' } })
  })

  it('keeps engine and database consistent after concurrent replaces and deletes', async () => {
    await using api = await createTestApi()
    await ready(api)
    const work = Array.from({ length: 30 }, (_, index) =>
      index % 3 === 0
        ? api.send('DELETE', '/svc/pipeline/cam-1')
        : index % 3 === 1
          ? api.send('POST', '/svc/pipeline', simple('cam-1', { on_demand: true, source: { uri: `rtsp://10.0.0.${index}/` } }))
          : api.send('PUT', '/svc/pipeline/cam-1', simple('cam-1', { on_demand: true, source: { uri: `rtsp://10.0.1.${index}/` } })),
    )
    const statuses = (await Promise.all(work)).map(({ status }) => status)
    expect(statuses.filter((status) => ![200, 201, 204, 404, 409].includes(status))).toEqual([])
    const record = await api.deps.pipelines.find('cam-1')
    expect(api.engine.config('cam-1')).toEqual(record?.config)
  })
})

describe('patching a pipeline', () => {
  const place = { latitude: 60.1, longitude: 24.9, altitude: 12, heading: 359.5 }
  testRows([
    {
      name: 'sets the geolocation, also while it plays',
      inProcess: true,
      given: async (api) => {
        await playing(api)
        api.time += 1000
      },
      request: patch({ geolocation: place }),
      status: 200,
      contains: [
        '"geolocation":{"latitude":60.1,"longitude":24.9,"altitude":12,"heading":359.5}',
        '"state":"playing"',
        '"updated_at":"2026-11-20T10:00:01.000Z"',
      ],
      after: async (api) => expect(await read(api)).toMatchObject({ geolocation: place }),
    },
    {
      name: 'removes it with null',
      given: (api) => api.given(simple('cam-1', { geolocation: place })),
      request: patch({ geolocation: null }),
      status: 200,
      contains: ['"geolocation":null'],
      after: async (api) => expect(await read(api)).toMatchObject({ geolocation: null }),
    },
    { name: 'refuses an empty change', given: playing, request: patch({}), status: 400, contains: ['"path":"geolocation"'] },
    { name: 'refuses an empty body', given: playing, request: patch(undefined), status: 400, contains: ['VALIDATION_ERROR'] },
    {
      name: 'refuses another field',
      given: playing,
      request: patch({ geolocation: null, on_demand: true }),
      status: 400,
      contains: ['"path":"on_demand"'],
    },
    {
      name: 'refuses a geolocation out of bounds',
      given: playing,
      request: patch({ geolocation: { latitude: 91, longitude: 0 } }),
      status: 400,
      contains: ['geolocation.latitude'],
    },
    { name: 'answers 404 for an unknown id', request: patch({ geolocation: null }), status: 404 },
  ])
})

describe('deleting a pipeline', () => {
  testRows([
    {
      name: 'removes it from database and engine',
      given: ready,
      request: ['DELETE', '/svc/pipeline/cam-1'],
      status: 204,
      after: async (api, _response, text) => {
        expect(text).toBe('')
        expect(api.engine.ids()).toEqual([])
        expect((await api.send('GET', '/svc/pipeline/cam-1')).status).toBe(404)
      },
    },
    {
      name: 'refuses while it plays',
      given: playing,
      request: ['DELETE', '/svc/pipeline/cam-1'],
      status: 409,
      contains: ['"code":"CONFLICT"'],
      after: async (api) => expect(await read(api)).toMatchObject({ state: 'playing' }),
    },
    { name: 'answers 404 for an unknown id', request: ['DELETE', '/svc/pipeline/cam-1'], status: 404 },
    {
      name: 'works also when the engine does not know the pipeline',
      given: async (api) => {
        await playing(api)
        api.engine.restart()
      },
      request: ['DELETE', '/svc/pipeline/cam-1'],
      status: 204,
    },
  ])

  it('leaves it to its readers when the database cannot remove it', async () => {
    await using api = await createTestApi()
    await ready(api)
    const before = api.engine.config('cam-1')
    const { remove } = api.deps.pipelines
    api.deps.pipelines.remove = async () => {
      throw new ApiError('SERVICE_UNAVAILABLE', 'The disk of the database is full.', { reason: 'database' })
    }
    expect((await api.send('DELETE', '/svc/pipeline/cam-1')).status).toBe(503)
    expect(api.engine.config('cam-1')).toEqual(before)

    // What is removed, though the answer was lost, does not come back.
    api.deps.pipelines.remove = async (id) => {
      await remove(id)
      throw new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer.', { reason: 'database' })
    }
    expect((await api.send('DELETE', '/svc/pipeline/cam-1')).status).toBe(503)
    expect(api.engine.ids()).toEqual([])
  })
})
