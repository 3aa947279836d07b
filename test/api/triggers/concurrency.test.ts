import { describe, expect, it } from 'vitest'
import { pipelines } from '../../../db/tables.ts'
import { ApiError } from '../../../lib/errors.ts'
import { API_KEY, createTestApi, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { createRandom } from '../../helpers/random.ts'

const send = async (api: TestApi, method: 'PUT' | 'DELETE', path: string) => {
  const url = `/svc/triggers/mediaServer/publish?path=${encodeURIComponent(path)}`
  const response = await api.send(method, url, undefined, { 'x-api-key': API_KEY })
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() }
}
const publish = (api: TestApi, path: string) => send(api, 'PUT', path)
const unpublish = (api: TestApi, path: string) => send(api, 'DELETE', path)
const statuses = async (calls: readonly Promise<{ status: number }>[]) => (await Promise.all(calls)).map(({ status }) => status)
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))

const stored = async (api: TestApi) => (await api.deps.pipelines.list()).map(({ config }) => config.id).sort()
const expectIds = async (api: TestApi, ...ids: readonly string[]) => expect([await stored(api), api.engine.ids()]).toEqual([ids, ids])
const pathOf = async (api: TestApi, id: string) => (await api.deps.pipelines.find(id))?.trigger_path
const called = (api: TestApi, call: string) => expect.poll(() => api.engine.calls).toContain(call)
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

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
    const api = await openApi()
    const open = gate(api, 'cam')
    const first = publish(api, 'cam')
    await called(api, 'play cam')
    const end = unpublish(api, 'cam')
    await called(api, 'remove cam')
    open()
    expect(await first).toMatchObject({ status: 409, body: { code: 'CONFLICT', details: { reason: 'stopped' } } })
    expect(await end).toMatchObject({ status: 200, body: { status: 'ok', pipelineId: 'cam', action: 'stop' } })
    await expectIds(api)
    expect(api.logged.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  })

  it('a publish that arrived just after an unpublish plays, whichever is admitted first', async () => {
    for (let round = 0; round < 10; round += 1) {
      await using api = await createTestApi()
      await publish(api, 'cam')
      expect(await statuses([unpublish(api, 'cam'), publish(api, 'cam')])).toEqual([200, 200])
      await expectIds(api, 'cam')
    }
  })

  it('an unpublish cancels a publish at any step', async () => {
    for (let step = 0; step < 40; step += 1) {
      await using api = await createTestApi()
      const started = publish(api, 'cam')
      await turns(step)
      const { status } = await unpublish(api, 'cam')
      expect([200, 409]).toContain((await started).status)
      expect([step, status, await stored(api), api.engine.ids()]).toEqual([step, 200, [], []])
    }
  })

  it('a publish after the unpublish plays while the first start is still being cancelled', async () => {
    const api = await openApi()
    const open = gate(api, 'cam')
    const first = publish(api, 'cam')
    await called(api, 'play cam')
    const end = unpublish(api, 'cam')
    await called(api, 'remove cam')
    const second = publish(api, 'cam')
    open()
    expect(await statuses([first, end, second])).toEqual([409, 200, 200])
    await expectIds(api, 'cam')
  })

  it('many publishes of one stream share one start', async () => {
    const api = await openApi()
    const open = gate(api, 'cam')
    const publishes = times(100, () => publish(api, 'cam'))
    await called(api, 'play cam')
    open()
    expect(await statuses(publishes)).toEqual(Array(100).fill(200))
    expect(api.engine.calls.filter((call) => call === 'play cam')).toHaveLength(1)
  })

  it('many unpublishes of one stream share one removal and do not end a later publish', async () => {
    const api = await openApi()
    await publish(api, 'cam')
    expect(await statuses([...times(100, () => unpublish(api, 'cam')), publish(api, 'cam')])).toEqual(Array(101).fill(200))
    await expectIds(api, 'cam')
  })

  it('of two paths that derive one id, the second is refused once the first plays, and cannot end it', async () => {
    const api = await openApi()
    const open = gate(api, 'ab')
    const first = publish(api, 'a/b')
    await called(api, 'play ab')
    const [second, end] = [publish(api, 'a.b'), unpublish(api, 'a,b')]
    open()
    expect(await statuses([first, second, end])).toEqual([200, 409, 200])
    expect((await second).body).toMatchObject({ details: { path: 'a/b' } })
    await expectIds(api, 'ab')
  })

  it('of two paths that derive one id, the first can be ended while the second is being refused', async () => {
    for (let step = 0; step < 12; step += 1) {
      await using api = await createTestApi()
      await publish(api, 'a/b')
      const second = publish(api, 'a.b')
      await turns(step)
      const end = unpublish(api, 'a/b')
      expect([(await end).status, await pathOf(api, 'ab')]).not.toContain('a/b')
      expect([200, 409]).toContain((await second).status)
    }
  })

  it('of two paths that derive one id, the second plays when the first cannot', async () => {
    const api = await openApi()
    const open = gate(api, 'ab')
    api.engine.startFaults.set('ab', new ApiError('ENGINE_ERROR', 'There is no such stream.'))
    const first = publish(api, 'a/b')
    await called(api, 'play ab')
    const second = publish(api, 'a.b')
    open()
    expect((await first).status).toBe(500)
    api.engine.startFaults.clear()
    expect([(await second).status, await pathOf(api, 'ab')]).toEqual([200, 'a.b'])
  })

  it('of a trigger and a client that use one id, one succeeds', async () => {
    const api = await openApi()
    const [trigger, user] = await statuses([publish(api, 'cam'), api.send('POST', '/svc/pipeline', simple('cam'))])
    expect(['200 409', '409 201']).toContain(`${trigger} ${user}`)
    expect(await pathOf(api, 'cam')).toBe(trigger === 200 ? 'cam' : null)
  })
})

describe('a storm', () => {
  it('of 200 publishes starts exactly max_ephemeral pipelines and leaves nothing of the others', async () => {
    const api = await openApi()
    await api.send('PUT', '/svc/settings', { triggers: { max_ephemeral: 10 } })
    for (let index = 0; index < 200; index += 7) api.engine.startGates.set(`cam${index}`, new Promise((resolve) => setImmediate(resolve)))
    const refused = (await Promise.all(times(200, (index) => publish(api, `cam${index}`)))).filter(({ status }) => status !== 200)
    const body = { code: 'SERVICE_UNAVAILABLE', details: { reason: 'max_ephemeral', max_ephemeral: 10 } }
    expect(refused).toMatchObject(Array(190).fill({ status: 503, retryAfter: '5', body }))
    expect((await stored(api)).length).toBe(10)
    expect(api.engine.ids()).toEqual(await stored(api))
    expect(api.engine.calls.filter((call) => call.startsWith('put '))).toHaveLength(10)
  })

  it.each([1, 2, 3])('of random calls from 8 clients (seed %i) leaves engine, database and list in agreement', async (seed) => {
    const api = await openApi()
    const random = createRandom(seed)
    await api.send('PUT', '/svc/settings', { triggers: { max_ephemeral: 12 } })
    // Paths 0 and 1 derive one id; some streams cannot be started.
    const paths = ['s/0', 's.0', ...times(18, (index) => `s/${index + 1}`)]
    for (const id of ['s3', 's4']) api.engine.startFaults.set(id, new ApiError('ENGINE_ERROR', 'There is no such stream.'))
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
    await Promise.all(times(8, client))
    const records = await api.deps.pipelines.list()
    await expectIds(api, ...(await stored(api)))
    expect(await api.database.orm.$count(pipelines)).toBe(records.length)
    for (const { config, trigger_path } of records) {
      expect([last.get(trigger_path ?? ''), config.output]).toEqual(['PUT', api.engine.config(config.id)?.output])
    }
    expect(new Set(records.map(({ config }) => config.output?.uri.split('/')[2])).size).toBe(records.length)
    expect(await statuses(paths.map((path) => unpublish(api, path)))).toEqual(paths.map(() => 200))
    await expectIds(api)
  })
})
