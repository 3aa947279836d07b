import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../lib/errors.ts'
import { reconcile } from '../../../lib/pipelines/reconcile.ts'
import type { Phase } from '../../../lib/schema/pipeline.ts'
import { triggeredConfig } from '../../../lib/schema/trigger.ts'
import { API_KEY, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { engineGone, engineReplaced, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const URL = '/svc/triggers/mediaServer/publish'
const LOCAL = { host: '127.0.0.1', port: 8554 }
const KEY = { 'x-api-key': API_KEY }
const query = (path: string, pipelineId?: string) =>
  `${URL}?${new URLSearchParams({ path, ...(pipelineId !== undefined && { pipelineId }) })}`
const put = (path: string, pipelineId?: string) => [`PUT ${query(path, pipelineId)}`, undefined, KEY] as const
const del = (path: string, pipelineId?: string) => [`DELETE ${query(path, pipelineId)}`, undefined, KEY] as const
const answers = (id: string, action: 'play' | 'stop') => (_api: TestApi, _response: Response, text: string) =>
  expect(text).toBe(`{"status":"ok","pipelineId":"${id}","action":"${action}"}`)

const published = (path: string, pipelineId?: string) => async (api: TestApi) =>
  expect((await api.send('PUT', query(path, pipelineId), undefined, KEY)).status).toBe(200)
const unpublish = (api: TestApi, path: string) => api.send('DELETE', query(path), undefined, KEY)
const stop = (api: TestApi, id: string) => api.send('PUT', `/svc/pipeline/${id}/stop`)
const atMost = (api: TestApi, max_ephemeral: number) => api.send('PUT', '/svc/settings', { triggers: { max_ephemeral } })
/** Another engine has brought the pipeline into this phase. */
const inPhase = async (api: TestApi, id: string, phase: Phase) => {
  const record = await api.deps.pipelines.find(id)
  if (record === undefined) throw new Error(`${id} is not stored`)
  api.engine.plant(record.config, phase)
}

const stored = async (api: TestApi) => (await api.deps.pipelines.list()).map(({ config }) => config.id).sort()
const expectIds =
  (...ids: readonly string[]) =>
  async (api: TestApi) =>
    expect([await stored(api), api.engine.ids()]).toEqual([ids, ids])
const nothingLeft = expectIds()
const read = async (api: TestApi, id: string) => (await api.send('GET', `/svc/pipeline/${id}`)).json()
const expectPhase = (id: string, phase: Phase) => async (api: TestApi) => expect(await read(api, id)).toMatchObject({ runtime: { phase } })
const callsOf = (api: TestApi, pattern: RegExp) => api.engine.calls.filter((call) => pattern.test(call))

describe('a publish', () => {
  testRowsOnAllHosts([
    row('creates a pipeline, playing, and answers exactly three fields', put('live/cam.1'), 200, {
      after: async (api, response, text) => {
        answers('livecam1', 'play')(api, response, text)
        const stored = { state: 'playing', output: { uri: 'rtsp://0.0.0.0:50000/livecam1' }, geolocation: null }
        expect(await read(api, 'livecam1')).toMatchObject({
          ...triggeredConfig({ id: 'livecam1', path: 'live/cam.1' }, LOCAL, 'copy'),
          ...stored,
        })
      },
    }),
    row('is refused when another path derived the same id, and names that path', put('live.cam'), 409, '"path":"live/cam"', {
      given: published('live/cam'),
      after: async (api) => expect((await api.deps.pipelines.find('livecam'))?.trigger_path).toBe('live/cam'),
    }),
    row('beyond settings.triggers.max_ephemeral is 503 with Retry-After', put('second'), 503, '"reason":"max_ephemeral"', {
      given: async (api) => {
        await atMost(api, 1)
        await api.given(simple('users-do-not-count'))
        await published('first')(api)
      },
      headers: { 'retry-after': '5' },
      after: expectIds('first', 'users-do-not-count'),
    }),
    row('needs a path', [`PUT ${URL}`, undefined, KEY], 400, ['VALIDATION_ERROR', '"path":"path"']),
  ])
  testRows([
    row('uses the given id', put('live/cam', 'gate-2'), 200, { after: answers('gate-2', 'play') }),
    row('of a path that already plays changes nothing', put('cam'), 200, {
      given: published('cam'),
      after: async (api) => {
        await expectIds('cam')(api)
        expect(callsOf(api, /^(play|stop|remove)/)).toEqual(['play cam'])
      },
    }),
    row('of a path whose source is unavailable keeps the readers of its pipeline', put('cam'), 200, {
      given: async (api) => {
        await published('cam')(api)
        await inPhase(api, 'cam', 'reconnecting')
      },
      after: (api) => expect(callsOf(api, /^play/)).toEqual(['play cam']),
    }),
    row('of a path whose pipeline a client stopped starts the same pipeline again', put('cam'), 200, {
      given: async (api) => {
        await published('cam')(api)
        await published('other')(api)
        await stop(api, 'cam')
      },
      after: async (api) => expect(await read(api, 'cam')).toMatchObject({ state: 'playing', output: { uri: 'rtsp://0.0.0.0:50000/cam' } }),
    }),
    row('of a path whose pipeline failed starts the same pipeline again', put('cam'), 200, {
      given: async (api) => {
        await published('cam')(api)
        await inPhase(api, 'cam', 'failed')
      },
      after: expectPhase('cam', 'playing'),
    }),
    row('of a path whose pipeline the engine does not know starts it again', put('cam'), 200, {
      given: engineReplaced(published('cam')),
      after: expectPhase('cam', 'playing'),
    }),
    row('that does not start again leaves nothing', put('cam'), 504, {
      given: async (api) => {
        await published('cam')(api)
        await stop(api, 'cam')
        api.engine.startFaults.set('cam', new ApiError('PIPELINE_START_TIMEOUT', 'No media.'))
      },
      after: nothingLeft,
    }),
    row('that does not start leaves nothing and answers the reason', put('cam'), 500, ['"code":"ENGINE_ERROR"', '"cause":"404"'], {
      given: (api) => api.engine.startFaults.set('cam', new ApiError('ENGINE_ERROR', 'There is no such stream.', { cause: '404' })),
      after: nothingLeft,
    }),
    row('is refused when a client created a pipeline with that id', put('cam'), 409, {
      given: (api) => api.given(simple('cam')),
      after: async (api) => expect(await read(api, 'cam')).toMatchObject({ ephemeral: false, state: 'playing' }),
    }),
    row('of a stream that already has a slot is not counted again', put('first'), 200, {
      given: async (api) => {
        await atMost(api, 1)
        await published('first')(api)
        await stop(api, 'first')
      },
    }),
    row('finds a slot after an unpublish and after a failed start', put('third'), 200, {
      given: async (api) => {
        await atMost(api, 1)
        await published('first')(api)
        await unpublish(api, 'first')
        api.engine.startFaults.set('second', new ApiError('ENGINE_ERROR', 'No.'))
        expect((await api.send('PUT', query('second'), undefined, KEY)).status).toBe(500)
      },
    }),
    row('answers 503 while the engine is gone', put('cam'), 503, {
      given: engineGone(),
      headers: { 'retry-after': '1' },
      after: nothingLeft,
    }),
    row('needs a license for its codec', put('cam'), 402, 'LICENSE_ERROR', {
      given: (api) => Object.assign(api, { license: '{"licensee":"x","codecs":["h265"],"max_streams":1,"expires":null}' }),
      after: nothingLeft,
    }),
    row('refuses two paths', [`PUT ${URL}?path=a&path=b`, undefined, KEY], 400),
    row('ignores a body', [`PUT ${query('cam')}`, 'not json', KEY], 200),
  ])
})

describe('an unpublish', () => {
  testRowsOnAllHosts([
    row('stops and removes the pipeline, and answers exactly three fields', del('live/cam.1'), 200, {
      given: published('live/cam.1'),
      after: async (api, response, text) => {
        answers('livecam1', 'stop')(api, response, text)
        await nothingLeft(api)
      },
    }),
    row('of an unknown path is answered all the same', del('nobody'), 200, { after: answers('nobody', 'stop') }),
  ])
  testRows([
    row('removes the pipeline with the given id', del('cam', 'own'), 200, { given: published('cam', 'own'), after: nothingLeft }),
    row('of a refused path does not affect the other path with the same id', del('live.cam'), 200, {
      given: published('live/cam'),
      after: expectPhase('livecam', 'playing'),
    }),
    row('does not affect the pipeline of a client', del('cam'), 409, '"code":"CONFLICT"', {
      given: (api) => api.given(simple('cam')),
      after: expectPhase('cam', 'playing'),
    }),
    row('removes a pipeline that the engine does not know', del('cam'), 200, {
      given: engineReplaced(published('cam')),
      after: nothingLeft,
    }),
    row('while the engine is gone answers 503, and the pipeline is removed when the engine is back', del('cam'), 503, {
      given: engineGone(published('cam')),
      after: async (api) => {
        expect(await stored(api)).toEqual([])
        api.engine.reachable = true
        await reconcile(api.deps, 'engine_found')
        await nothingLeft(api)
      },
    }),
  ])
})

describe('a pipeline whose source stays unavailable', () => {
  const fail = async (api: TestApi, id: string) => {
    await inPhase(api, id, 'failed')
    return api.engine.view(id)
  }

  it('is removed when the engine has given up', async () => {
    const api = await openApi(published('cam'))
    api.deps.triggers.onEvent({ type: 'pipeline', view: await fail(api, 'cam') })
    await expect.poll(async () => [await stored(api), api.engine.ids()]).toEqual([[], []])
    expect(api.logged.map(({ event }) => event)).toContain('triggered_pipeline_given_up')
  })

  it('is kept when it has been started again', async () => {
    const api = await openApi(published('cam'))
    const view = await fail(api, 'cam')
    const again = published('cam')(api)
    api.deps.triggers.onEvent({ type: 'pipeline', view })
    await again
    await api.deps.changes('cam', async () => undefined)
    await expectPhase('cam', 'playing')(api)
  })

  it('is kept when a client created it', async () => {
    const api = await openApi((api) => api.given(simple('cam')))
    api.deps.triggers.onEvent({ type: 'pipeline', view: await fail(api, 'cam') })
    await api.deps.changes('cam', async () => undefined)
    await expectIds('cam')(api)
  })

  it.each(['engine_found', 'engine_restarted'] as const)('is removed at the next reconciliation (%s)', async (occasion) => {
    const api = await openApi()
    for (const path of ['gone', 'there']) await published(path)(api)
    await inPhase(api, 'gone', 'failed')
    await reconcile(api.deps, occasion)
    await expectIds('there')(api)
  })
})
