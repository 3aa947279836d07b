import { describe, expect, it } from 'vitest'
import { ApiError } from '../../lib/errors.ts'
import { reconcile } from '../../lib/pipelines/reconcile.ts'
import { API_KEY, createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { fetchHost, nodeHost } from '../helpers/api/hosts.ts'
import { until } from '../helpers/until.ts'
import { testRows } from './api-rows.ts'

const URL = '/svc/triggers/mediaServer/publish'
const KEY = { 'x-api-key': API_KEY }
const target = (path: string, pipelineId?: string) =>
  `${URL}?path=${encodeURIComponent(path)}${pipelineId === undefined ? '' : `&pipelineId=${encodeURIComponent(pipelineId)}`}`
const put = (path: string, pipelineId?: string) => ['PUT', target(path, pipelineId), undefined, KEY] as const
const del = (path: string, pipelineId?: string) => ['DELETE', target(path, pipelineId), undefined, KEY] as const

const published = async (api: TestApi, path: string, pipelineId?: string) => {
  const response = await api.send(...put(path, pipelineId))
  expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ action: 'play' })])
}
const stored = async (api: TestApi) => (await api.deps.pipelines.list()).map(({ config }) => config.id).sort()
const nothingLeft = async (api: TestApi) => expect([await stored(api), api.engine.ids()]).toEqual([[], []])
const playOf = (id: string) => `{"status":"ok","pipelineId":"${id}","action":"play"}`
const stopOf = (id: string) => `{"status":"ok","pipelineId":"${id}","action":"stop"}`
const body = async (response: Response) => ({ status: response.status, ...((await response.json()) as object) })

describe('a publish', () => {
  testRows([
    {
      name: 'creates the documented pipeline, playing, and answers exactly three fields',
      request: put('live/cam.1'),
      status: 200,
      after: async (api, _response, text) => {
        expect(text).toBe(playOf('livecam1'))
        expect(await (await api.send('GET', '/svc/pipeline/livecam1')).json()).toMatchObject({
          id: 'livecam1',
          mode: 'simple',
          on_demand: false,
          state: 'playing',
          source: { uri: 'rtsp://127.0.0.1:8554/live/cam.1', latency_ms: 200 },
          encoding: { codec: 'h264', bitrate: 2000, width: 1920, height: 1080, fps: 30, quality: 7 },
          output: { uri: 'rtsp://0.0.0.0:50000/livecam1' },
          klv_config: { pass_klv: true, auto_extract_geolocation: true },
          geolocation: null,
          ephemeral: true,
        })
      },
    },
    {
      name: 'uses the given id',
      request: put('live/cam', 'gate-2'),
      status: 200,
      after: (_api, _response, text) => expect(text).toBe(playOf('gate-2')),
    },
    {
      name: 'of a path that already plays changes nothing',
      given: (api) => published(api, 'cam'),
      request: put('cam'),
      status: 200,
      contains: [playOf('cam')],
      after: async (api) => {
        expect(await stored(api)).toEqual(['cam'])
        expect(api.engine.calls.filter((call) => /^(play|stop|remove)/.test(call))).toEqual(['play cam'])
      },
    },
    {
      name: 'of a path whose source is unavailable keeps the readers of its pipeline',
      given: async (api) => {
        await published(api, 'cam')
        api.engine.plant(await configOf(api, 'cam'), 'reconnecting')
      },
      request: put('cam'),
      status: 200,
      after: (api) => expect(api.engine.calls.filter((call) => call.startsWith('play'))).toEqual(['play cam']),
    },
    {
      name: 'of a path whose pipeline a client stopped starts the same pipeline again',
      given: async (api) => {
        await published(api, 'cam')
        await published(api, 'other')
        await api.send('PUT', '/svc/pipeline/cam/stop')
      },
      request: put('cam'),
      status: 200,
      after: async (api) =>
        expect(await (await api.send('GET', '/svc/pipeline/cam')).json()).toMatchObject({
          state: 'playing',
          output: { uri: 'rtsp://0.0.0.0:50000/cam' },
        }),
    },
    {
      name: 'of a path whose pipeline failed starts the same pipeline again',
      given: async (api) => {
        await published(api, 'cam')
        api.engine.plant(await configOf(api, 'cam'), 'failed')
      },
      request: put('cam'),
      status: 200,
      after: async (api) => expect(await phaseOf(api, 'cam')).toBe('playing'),
    },
    {
      name: 'of a path whose pipeline the engine does not know starts it again',
      given: async (api) => {
        await published(api, 'cam')
        api.engine.restart()
      },
      request: put('cam'),
      status: 200,
      after: async (api) => expect(await phaseOf(api, 'cam')).toBe('playing'),
    },
    {
      name: 'that does not start again leaves nothing',
      given: async (api) => {
        await published(api, 'cam')
        await api.send('PUT', '/svc/pipeline/cam/stop')
        api.engine.startFaults.set('cam', new ApiError('PIPELINE_START_TIMEOUT', 'No media.'))
      },
      request: put('cam'),
      status: 504,
      after: nothingLeft,
    },
    {
      name: 'that does not start leaves nothing and answers the reason',
      given: async (api) => {
        api.engine.startFaults.set('cam', new ApiError('ENGINE_ERROR', 'There is no such stream.', { cause: '404' }))
      },
      request: put('cam'),
      status: 500,
      contains: ['"code":"ENGINE_ERROR"', '"cause":"404"'],
      after: nothingLeft,
    },
    {
      name: 'is refused when a client created a pipeline with that id',
      given: (api) => api.given(simple('cam')),
      request: put('cam'),
      status: 409,
      contains: ['"code":"CONFLICT"'],
      after: async (api) =>
        expect(await (await api.send('GET', '/svc/pipeline/cam')).json()).toMatchObject({ ephemeral: false, state: 'playing' }),
    },
    {
      name: 'is refused when a client created a pipeline with the given id',
      given: (api) => api.given(simple('mine')),
      request: put('cam', 'mine'),
      status: 409,
    },
    {
      name: 'is refused when another path derived the same id, and names that path',
      given: (api) => published(api, 'live/cam'),
      request: put('live.cam'),
      status: 409,
      contains: ['"code":"CONFLICT"', '"path":"live/cam"'],
      after: async (api) => expect((await api.deps.pipelines.find('livecam'))?.trigger_path).toBe('live/cam'),
    },
    {
      name: 'beyond settings.triggers.max_ephemeral is 503 with Retry-After',
      given: async (api) => {
        await api.send('PUT', '/svc/settings', { triggers: { max_ephemeral: 1 } })
        await api.given(simple('users-do-not-count'))
        await published(api, 'first')
      },
      request: put('second'),
      status: 503,
      contains: ['"code":"SERVICE_UNAVAILABLE"', '"reason":"max_ephemeral"'],
      headers: { 'retry-after': '5' },
      after: async (api) => expect(api.engine.ids()).toEqual(['first', 'users-do-not-count']),
    },
    {
      name: 'of a stream that already has a slot is not counted again',
      given: async (api) => {
        await api.send('PUT', '/svc/settings', { triggers: { max_ephemeral: 1 } })
        await published(api, 'first')
        await api.send('PUT', '/svc/pipeline/first/stop')
      },
      request: put('first'),
      status: 200,
    },
    {
      name: 'finds a slot after an unpublish',
      given: async (api) => {
        await api.send('PUT', '/svc/settings', { triggers: { max_ephemeral: 1 } })
        await published(api, 'first')
        await api.send(...del('first'))
      },
      request: put('second'),
      status: 200,
    },
    {
      name: 'finds a slot after a failed start',
      given: async (api) => {
        await api.send('PUT', '/svc/settings', { triggers: { max_ephemeral: 1 } })
        api.engine.startFaults.set('first', new ApiError('ENGINE_ERROR', 'No.'))
        expect((await api.send(...put('first'))).status).toBe(500)
      },
      request: put('second'),
      status: 200,
    },
    {
      name: 'answers 503 while the engine is gone',
      given: async (api) => {
        api.engine.reachable = false
      },
      request: put('cam'),
      status: 503,
      headers: { 'retry-after': '1' },
      after: async (api) => expect(await stored(api)).toEqual([]),
    },
    { name: 'needs a path', request: ['PUT', URL, undefined, KEY], status: 400, contains: ['VALIDATION_ERROR', '"path":"path"'] },
    { name: 'needs a path that derives an id', request: put('äöü'), status: 400, contains: ['VALIDATION_ERROR'] },
    { name: 'refuses an id outside the pattern', request: put('cam', 'a/b'), status: 400, contains: ['"path":"pipelineId"'] },
    { name: 'refuses two paths', request: ['PUT', `${URL}?path=a&path=b`, undefined, KEY], status: 400 },
    {
      name: 'never echoes credentials in the path',
      request: put('rtsp://user:hunter2@camera/stream'),
      status: 400,
      lacks: ['hunter2'],
    },
    { name: 'ignores a body', request: ['PUT', target('cam'), 'not json', KEY], status: 200 },
    { name: 'knows no other methods', request: ['POST', target('cam'), undefined, KEY], status: 405, headers: { allow: 'PUT, DELETE' } },
  ])
})

describe('a publish under a license', () => {
  // The license of a worker is not this test's to change.
  testRows(
    [
      {
        name: 'needs a license for its codec',
        inProcess: true,
        given: async (api) => {
          api.license = JSON.stringify({ licensee: 'x', codecs: ['h265'], max_streams: 1, expires: null })
        },
        request: put('cam'),
        status: 402,
        contains: ['LICENSE_ERROR'],
        after: nothingLeft,
      },
    ],
    [fetchHost, nodeHost],
  )
})

describe('an unpublish', () => {
  testRows([
    {
      name: 'stops and removes the pipeline, and answers exactly three fields',
      given: (api) => published(api, 'live/cam.1'),
      request: del('live/cam.1'),
      status: 200,
      after: async (api, _response, text) => {
        expect(text).toBe(stopOf('livecam1'))
        await nothingLeft(api)
      },
    },
    {
      name: 'removes the pipeline with the given id',
      given: (api) => published(api, 'cam', 'own'),
      request: del('cam', 'own'),
      status: 200,
      contains: [stopOf('own')],
      after: nothingLeft,
    },
    { name: 'of an unknown path is answered all the same', request: del('nobody'), status: 200, contains: [stopOf('nobody')] },
    {
      name: 'of a refused path does not affect the other path with the same id',
      given: (api) => published(api, 'live/cam'),
      request: del('live.cam'),
      status: 200,
      contains: [stopOf('livecam')],
      after: async (api) => expect(await phaseOf(api, 'livecam')).toBe('playing'),
    },
    {
      name: 'does not affect the pipeline of a client',
      given: (api) => api.given(simple('cam')),
      request: del('cam'),
      status: 409,
      contains: ['"code":"CONFLICT"'],
      after: async (api) => expect(await phaseOf(api, 'cam')).toBe('playing'),
    },
    {
      name: 'removes a pipeline that the engine does not know',
      given: async (api) => {
        await published(api, 'cam')
        api.engine.restart()
      },
      request: del('cam'),
      status: 200,
      after: nothingLeft,
    },
    {
      name: 'while the engine is gone answers 503, and the pipeline is removed when the engine is back',
      given: async (api) => {
        await published(api, 'cam')
        api.engine.reachable = false
      },
      request: del('cam'),
      status: 503,
      after: async (api) => {
        api.engine.reachable = true
        await reconcile(api.deps, 'engine_found')
        await nothingLeft(api)
      },
    },
    { name: 'needs a path', request: ['DELETE', URL, undefined, KEY], status: 400 },
  ])
})

describe('the key of the triggers', () => {
  const refused = '{"error":"Unauthorized"}'
  const password = { password: 'correct horse battery' }
  const login = async (api: TestApi) => {
    await api.send('PUT', '/svc/auth/password', password)
    const { token } = (await (await api.send('POST', '/svc/auth/login', password)).json()) as { token: string }
    return { authorization: `Bearer ${token}` }
  }
  const credentials: readonly (readonly [string, (api: TestApi) => Promise<Record<string, string>>, number])[] = [
    ['no credential', async () => ({}), 401],
    ['a session token alone', login, 401],
    ['a wrong key', async () => ({ 'x-api-key': 'wrong' }), 401],
    ['an empty key', async () => ({ 'x-api-key': '' }), 401],
    ['a wrong key and a good token', async (api) => ({ ...(await login(api)), 'x-api-key': 'wrong' }), 401],
    ['the key as a bearer token', async () => ({ authorization: `Bearer ${API_KEY}` }), 401],
    ['the key', async () => KEY, 200],
    ['the key and a bad token', async () => ({ ...KEY, authorization: 'Bearer nonsense' }), 200],
  ]
  for (const enabled of [false, true]) {
    for (const method of ['PUT', 'DELETE']) {
      it.each(credentials)(`with %s ${method} while a password is ${enabled ? '' : 'not '}set`, async (_name, headersOf, status) => {
        await using api = await createTestApi()
        if (enabled) await api.send('PUT', '/svc/auth/password', password)
        const headers = await headersOf(api)
        if (!enabled) await api.deps.credentials.clear()
        const response = await api.send(method, target('cam'), undefined, headers)
        expect(response.status).toBe(status)
        if (status === 401) expect(await response.text()).toBe(refused)
        expect(await stored(api)).toEqual(status === 200 && method === 'PUT' ? ['cam'] : [])
      })
    }
  }
})

describe('a pipeline whose source stays unavailable', () => {
  const failed = async (api: TestApi, id: string) => {
    api.engine.plant(await configOf(api, id), 'failed')
    const view = await api.engine.view(id)
    api.deps.triggers.onEvent({ type: 'pipeline', view })
  }

  it('is removed when the engine has given up', async () => {
    await using api = await createTestApi()
    await published(api, 'cam')
    await failed(api, 'cam')
    await until(
      () => stored(api),
      (ids) => ids.length === 0,
    )
    await until(
      () => api.engine.ids(),
      (ids) => ids.length === 0,
    )
    expect(api.logged.map(({ event }) => event)).toContain('triggered_pipeline_given_up')
  })

  it('is kept when it has been started again', async () => {
    await using api = await createTestApi()
    await published(api, 'cam')
    api.engine.plant(await configOf(api, 'cam'), 'failed')
    const view = await api.engine.view('cam')
    const again = api.send(...put('cam'))
    api.deps.triggers.onEvent({ type: 'pipeline', view })
    expect((await again).status).toBe(200)
    await api.deps.changes('cam', async () => undefined)
    expect(await phaseOf(api, 'cam')).toBe('playing')
  })

  it('is kept when a client created it', async () => {
    await using api = await createTestApi()
    await api.given(simple('cam'))
    await failed(api, 'cam')
    await api.deps.changes('cam', async () => undefined)
    expect([await stored(api), api.engine.ids()]).toEqual([['cam'], ['cam']])
  })

  it.each(['engine_found', 'engine_restarted'] as const)('is removed at the next reconciliation (%s)', async (occasion) => {
    await using api = await createTestApi()
    await published(api, 'gone')
    await published(api, 'there')
    api.engine.plant(await configOf(api, 'gone'), 'failed')
    await reconcile(api.deps, occasion)
    expect([await stored(api), api.engine.ids()]).toEqual([['there'], ['there']])
  })
})

const configOf = async (api: TestApi, id: string) => {
  const record = await api.deps.pipelines.find(id)
  if (record === undefined) throw new Error(`${id} is not stored`)
  return record.config
}
const phaseOf = async (api: TestApi, id: string) =>
  ((await body(await api.send('GET', `/svc/pipeline/${id}`))) as { runtime?: { phase: string } }).runtime?.phase
