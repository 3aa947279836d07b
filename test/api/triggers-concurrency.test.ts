import { describe, expect, it } from 'vitest'
import { pipelines } from '../../db/tables.ts'
import { ApiError } from '../../lib/errors.ts'
import { API_KEY, createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { createRandom } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'

const send = async (api: TestApi, method: 'PUT' | 'DELETE', path: string) => {
  const response = await api.send(method, `/svc/triggers/mediaServer/publish?path=${encodeURIComponent(path)}`, undefined, {
    'x-api-key': API_KEY,
  })
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() }
}
const stored = async (api: TestApi) => (await api.deps.pipelines.list()).map(({ config }) => config.id).sort()
const called = (api: TestApi, call: string, count = 1) =>
  until(
    () => api.engine.calls.filter((one) => one === call).length,
    (seen) => seen >= count,
  )

/** Holds every start of a pipeline until it is opened. */
const gate = (api: TestApi, id: string) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  api.engine.startGates.set(id, promise)
  return () => {
    api.engine.startGates.delete(id)
    resolve()
  }
}

describe('concurrent publish and unpublish', () => {
  it('an unpublish during the publish cancels the start and leaves nothing', async () => {
    await using api = await createTestApi()
    const open = gate(api, 'cam')
    const publish = send(api, 'PUT', 'cam')
    await called(api, 'play cam')
    const unpublish = send(api, 'DELETE', 'cam')
    await called(api, 'remove cam')
    open()
    expect(await publish).toMatchObject({ status: 409, body: { code: 'CONFLICT', details: { reason: 'stopped' } } })
    expect(await unpublish).toMatchObject({ status: 200, body: { status: 'ok', pipelineId: 'cam', action: 'stop' } })
    expect([await stored(api), api.engine.ids()]).toEqual([[], []])
    expect(api.logged.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  })

  it('an unpublish cancels a publish that arrived just before it, whichever is admitted first', async () => {
    for (let round = 0; round < 30; round += 1) {
      await using api = await createTestApi()
      const [publish, unpublish] = await Promise.all([send(api, 'PUT', 'cam'), send(api, 'DELETE', 'cam')])
      // 200: it played before the unpublish was admitted.
      expect([200, 409]).toContain(publish.status)
      expect([unpublish.status, await stored(api), api.engine.ids()]).toEqual([200, [], []])
    }
  })

  it('a publish that arrived just after an unpublish plays, whichever is admitted first', async () => {
    for (let round = 0; round < 30; round += 1) {
      await using api = await createTestApi()
      await send(api, 'PUT', 'cam')
      const [unpublish, publish] = await Promise.all([send(api, 'DELETE', 'cam'), send(api, 'PUT', 'cam')])
      expect([unpublish.status, publish.status]).toEqual([200, 200])
      expect([await stored(api), api.engine.ids()]).toEqual([['cam'], ['cam']])
    }
  })

  it('an unpublish cancels a publish at any step', async () => {
    for (let step = 0; step < 60; step += 1) {
      await using api = await createTestApi()
      const publish = send(api, 'PUT', 'cam')
      for (let turn = 0; turn < step; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      const unpublish = await send(api, 'DELETE', 'cam')
      expect([200, 409]).toContain((await publish).status)
      expect(unpublish.status).toBe(200)
      expect([step, await stored(api), api.engine.ids()]).toEqual([step, [], []])
    }
  })

  it('a publish after the unpublish plays while the first start is still being cancelled', async () => {
    await using api = await createTestApi()
    const open = gate(api, 'cam')
    const first = send(api, 'PUT', 'cam')
    await called(api, 'play cam')
    const unpublish = send(api, 'DELETE', 'cam')
    await called(api, 'remove cam')
    const second = send(api, 'PUT', 'cam')
    open()
    expect([(await first).status, (await unpublish).status, (await second).status]).toEqual([409, 200, 200])
    expect([await stored(api), api.engine.ids()]).toEqual([['cam'], ['cam']])
  })

  it('many publishes of one stream share one start', async () => {
    await using api = await createTestApi()
    const open = gate(api, 'cam')
    const publishes = Array.from({ length: 100 }, () => send(api, 'PUT', 'cam'))
    await called(api, 'play cam')
    open()
    expect(new Set((await Promise.all(publishes)).map(({ status }) => status))).toEqual(new Set([200]))
    expect(api.engine.calls.filter((call) => call === 'play cam')).toHaveLength(1)
  })

  it('many unpublishes of one stream share one removal and do not end a later publish', async () => {
    await using api = await createTestApi()
    await send(api, 'PUT', 'cam')
    const unpublishes = Array.from({ length: 100 }, () => send(api, 'DELETE', 'cam'))
    const publish = send(api, 'PUT', 'cam')
    expect(new Set((await Promise.all(unpublishes)).map(({ status }) => status))).toEqual(new Set([200]))
    expect((await publish).status).toBe(200)
    expect([await stored(api), api.engine.ids()]).toEqual([['cam'], ['cam']])
  })

  it('of two paths that derive one id, the second is refused once the first plays, and cannot end it', async () => {
    await using api = await createTestApi()
    const open = gate(api, 'ab')
    const first = send(api, 'PUT', 'a/b')
    await called(api, 'play ab')
    const [second, unpublish] = [send(api, 'PUT', 'a.b'), send(api, 'DELETE', 'a,b')]
    open()
    expect((await first).status).toBe(200)
    expect(await second).toMatchObject({ status: 409, body: { details: { path: 'a/b' } } })
    expect((await unpublish).status).toBe(200)
    expect(await stored(api)).toEqual(['ab'])
  })

  it('of two paths that derive one id, the first can be ended while the second is being refused', async () => {
    for (let step = 0; step < 12; step += 1) {
      await using api = await createTestApi()
      await send(api, 'PUT', 'a/b')
      const second = send(api, 'PUT', 'a.b')
      for (let turn = 0; turn < step; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      const unpublish = send(api, 'DELETE', 'a/b')
      expect([(await unpublish).status, (await api.deps.pipelines.find('ab'))?.trigger_path]).not.toContain('a/b')
      expect([200, 409]).toContain((await second).status)
    }
  })

  it('of two paths that derive one id, the second plays when the first cannot', async () => {
    await using api = await createTestApi()
    const open = gate(api, 'ab')
    api.engine.startFaults.set('ab', new ApiError('ENGINE_ERROR', 'There is no such stream.'))
    const first = send(api, 'PUT', 'a/b')
    await called(api, 'play ab')
    const second = send(api, 'PUT', 'a.b')
    open()
    expect((await first).status).toBe(500)
    api.engine.startFaults.clear()
    expect((await second).status).toBe(200)
    expect((await api.deps.pipelines.find('ab'))?.trigger_path).toBe('a.b')
  })

  it('of a trigger and a client that use one id, one succeeds', async () => {
    await using api = await createTestApi()
    const [trigger, user] = await Promise.all([send(api, 'PUT', 'cam'), api.send('POST', '/svc/pipeline', simple('cam'))])
    expect([
      [200, 409],
      [409, 201],
    ]).toContainEqual([trigger.status, user.status])
    expect((await api.deps.pipelines.find('cam'))?.trigger_path).toBe(trigger.status === 200 ? 'cam' : null)
  })
})

describe('a storm', () => {
  it('of 200 publishes starts exactly max_ephemeral pipelines and leaves nothing of the others', async () => {
    await using api = await createTestApi()
    await api.send('PUT', '/svc/settings', { triggers: { max_ephemeral: 10 } })
    for (let index = 0; index < 200; index += 7) api.engine.startGates.set(`cam${index}`, new Promise((resolve) => setImmediate(resolve)))
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => send(api, 'PUT', `cam${index}`)))
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused).toHaveLength(190)
    for (const { status, retryAfter, body } of refused) {
      expect([status, retryAfter]).toEqual([503, '5'])
      expect(body).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'max_ephemeral', max_ephemeral: 10 } })
    }
    expect(await stored(api)).toHaveLength(10)
    expect(api.engine.ids()).toEqual(await stored(api))
    expect(api.engine.calls.filter((call) => call.startsWith('put '))).toHaveLength(10)
  })

  it.each([1, 2, 3])(
    'of 300 random calls over 20 paths from 8 clients (seed %i) leaves engine, database and list in agreement',
    async (seed) => {
      await using api = await createTestApi()
      const random = createRandom(seed)
      await api.send('PUT', '/svc/settings', { triggers: { max_ephemeral: 12 } })
      // Paths 0 and 1 derive one id; some streams cannot be started.
      const paths = ['s/0', 's.0', ...Array.from({ length: 18 }, (_, index) => `s/${index + 1}`)]
      for (const id of ['s3', 's4'])
        api.engine.startFaults.set(id, new ApiError('ENGINE_ERROR', 'There is no such stream.', { cause: '404' }))
      const last = new Map<string, 'PUT' | 'DELETE'>()
      let left = 300
      const client = async (): Promise<void> => {
        while (left > 0) {
          left -= 1
          const [path, method] = [random.pick(paths), random.chance(0.6) ? 'PUT' : 'DELETE'] as const
          last.set(path, method)
          const { status } = await send(api, method, path)
          expect(method === 'PUT' ? [200, 409, 500, 503] : [200]).toContain(status)
          expect((await stored(api)).length).toBeLessThanOrEqual(12)
        }
      }
      await Promise.all(Array.from({ length: 8 }, client))
      const records = await api.deps.pipelines.list()
      expect(records.map(({ config }) => config.id).sort()).toEqual(api.engine.ids())
      expect(await api.database.orm.$count(pipelines)).toBe(records.length)
      for (const { config, trigger_path } of records) {
        expect(last.get(trigger_path ?? '')).toBe('PUT')
        expect(config.output).toEqual(api.engine.config(config.id)?.output)
      }
      const ports = records.map(({ config }) => config.output?.uri.split('/')[2])
      expect(new Set(ports).size).toBe(ports.length)
      for (const path of paths) expect((await send(api, 'DELETE', path)).status).toBe(200)
      expect([await stored(api), api.engine.ids()]).toEqual([[], []])
    },
  )
})
