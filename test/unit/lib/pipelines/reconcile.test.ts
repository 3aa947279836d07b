import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../../lib/errors.ts'
import { reconcile, startUnlicensed } from '../../../../lib/pipelines/reconcile.ts'
import type { PipelineRecord } from '../../../../lib/repositories/repositories.ts'
import type { PipelineConfig } from '../../../../lib/schema/pipeline.ts'
import { createTestApi, START, type TestApi } from '../../../helpers/api/api.ts'
import { until } from '../../../helpers/until.ts'

const config = (id: string, more: Partial<PipelineConfig> = {}): PipelineConfig =>
  ({
    id,
    mode: 'simple',
    on_demand: false,
    output: { uri: `rtsp://0.0.0.0:50100/${id}` },
    klv_config: { pass_klv: false, auto_extract_geolocation: false },
    push: [],
    ephemeral: false,
    source: { uri: 'rtsp://10.0.0.5/stream', latency_ms: 200 },
    encoding: null,
    ...more,
  }) as PipelineConfig

const record = (of: PipelineConfig, desired: PipelineRecord['desired']): PipelineRecord => ({
  config: of,
  geolocation: null,
  desired,
  trigger_path: of.ephemeral ? of.id : null,
  created_at: START,
  updated_at: START,
})

const store = async (api: TestApi, ...records: PipelineRecord[]) => {
  for (const one of records) await api.deps.pipelines.insert(one)
}
const phases = async (api: TestApi) => Object.fromEntries((await api.engine.list()).map(({ id, runtime }) => [id, runtime.phase]))
const desires = async (api: TestApi) =>
  Object.fromEntries((await api.deps.pipelines.list()).map(({ config: { id }, desired }) => [id, desired]))

describe('when the service starts', () => {
  it('plays what is not on-demand, registers the rest and removes triggered pipelines', async () => {
    await using api = await createTestApi()
    await store(
      api,
      record(config('always'), 'playing'),
      record(config('stopped'), 'ready'),
      record(config('demand', { on_demand: true }), 'playing'),
      record(config('published', { push: [], ephemeral: true }), 'playing'),
    )
    await reconcile(api.deps, 'service_start')
    expect(await phases(api)).toEqual({ always: 'playing', stopped: 'playing', demand: 'idle' })
    expect(await desires(api)).toEqual({ always: 'playing', stopped: 'playing', demand: 'ready' })
  })

  it('does not wait for a change that itself waits for the engine, and settles the pipeline again after it', async () => {
    await using api = await createTestApi()
    await store(api, record(config('busy'), 'playing'), record(config('published', { push: [], ephemeral: true }), 'playing'))
    const ready = Promise.withResolvers<void>()
    const changes = ['busy', 'published'].map((id) => api.deps.changes(id, () => ready.promise))
    await reconcile(api.deps, 'service_start')
    // A trigger may be about to start what it wants again.
    expect(await desires(api)).toEqual({ busy: 'playing', published: 'playing' })
    expect(await phases(api)).toEqual({ busy: 'playing' })
    await api.engine.stop('busy')
    ready.resolve()
    await Promise.all(changes)
    await until(
      () => desires(api),
      (stored) => Object.keys(stored).length === 1,
    )
    expect(await desires(api)).toEqual({ busy: 'ready' })
  })

  it('sends the settings first', async () => {
    await using api = await createTestApi()
    await api.deps.settings.write({ start_timeout_seconds: 42 }, START)
    await store(api, record(config('a'), 'playing'))
    await reconcile(api.deps, 'service_start')
    expect(api.engine.calls.filter((call) => !call.startsWith('view'))[0]).toBe('configure')
    expect(api.engine.settings()).toMatchObject({ start_timeout_seconds: 42, stall_timeout_seconds: 10 })
  })

  it('goes on without the settings that this version refuses, and says which', async () => {
    await using api = await createTestApi()
    await api.deps.settings.write({ start_timeout_seconds: 999, stall_timeout_seconds: 42 }, START)
    await reconcile(api.deps, 'service_start')
    expect(api.engine.settings()).toMatchObject({ start_timeout_seconds: 10, stall_timeout_seconds: 42 })
    const logged = api.logged.filter(({ event }) => event === 'settings_refused')
    expect(logged.map(({ fields }) => fields.fields)).toEqual([['start_timeout_seconds']])
  })

  it('continues with the others when one fails', async () => {
    await using api = await createTestApi()
    await store(
      api,
      record(config('a'), 'playing'),
      record(config('file', { source: { uri: 'file:///x', latency_ms: 0 } }), 'playing'),
      record(config('z'), 'playing'),
    )
    api.engine.startFaults.set('a', new ApiError('PIPELINE_START_TIMEOUT', 'Nothing came.'))
    await reconcile(api.deps, 'service_start')
    expect(await phases(api)).toEqual({ a: 'failed', z: 'playing' })
    expect(api.logged).toContainEqual({ level: 'warn', event: 'pipeline_not_reconciled', fields: expect.objectContaining({ id: 'file' }) })
  })

  it('starts no more than the license allows', async () => {
    await using api = await createTestApi()
    await store(api, ...['a', 'b', 'c'].map((id) => record(config(id), 'playing')))
    api.license = '{"licensee":"x","codecs":["h264"],"max_streams":2}'
    await reconcile(api.deps, 'service_start')
    expect(await phases(api)).toEqual({ a: 'playing', b: 'playing', c: 'idle' })
  })

  it('starts what the license refused when there is another license, as far as it should still play', async () => {
    await using api = await createTestApi()
    await store(api, ...['a', 'b', 'c', 'd'].map((id) => record(config(id), 'playing')))
    api.license = '{"licensee":"x","codecs":["h264"],"expires":"2001-01-01"}'
    await reconcile(api.deps, 'service_start')
    await api.send('PUT', '/svc/pipeline/b/stop')
    await api.send('DELETE', '/svc/pipeline/c')
    await startUnlicensed(api.deps)
    expect(await phases(api)).toEqual({ a: 'idle', b: 'idle', d: 'idle' })
    // The link to the engine may break meanwhile.
    await reconcile(api.deps, 'engine_found')
    api.license = '{"licensee":"x","codecs":["h264"]}'
    await startUnlicensed(api.deps)
    expect(await phases(api)).toEqual({ a: 'playing', b: 'idle', d: 'playing' })
    expect(await desires(api)).toEqual({ a: 'playing', b: 'ready', d: 'playing' })
  })

  it('fails when the engine is gone, so that it is tried again', async () => {
    await using api = await createTestApi()
    await store(api, record(config('a'), 'playing'))
    const put = api.deps.engine.put
    api.deps.engine.put = async (...given) => {
      api.engine.reachable = false
      return put(...given)
    }
    await expect(reconcile(api.deps, 'service_start')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })
})

describe('when the engine was restarted', () => {
  it('plays what was playing, on-demand or not', async () => {
    await using api = await createTestApi()
    await store(
      api,
      record(config('always'), 'playing'),
      record(config('stopped'), 'ready'),
      record(config('demand', { on_demand: true }), 'playing'),
      record(config('published', { push: [], ephemeral: true }), 'playing'),
    )
    await reconcile(api.deps, 'engine_restarted')
    expect(await phases(api)).toEqual({ always: 'playing', stopped: 'idle', demand: 'playing', published: 'playing' })
  })

  it('restores the states that the API requested', async () => {
    await using api = await createTestApi()
    for (const id of ['a', 'b']) await api.given({ id, mode: 'simple', source: { uri: 'rtsp://h/' } })
    await api.send('PUT', '/svc/pipeline/b/stop')
    api.engine.restart()
    await reconcile(api.deps, 'engine_restarted')
    expect(await phases(api)).toEqual({ a: 'playing', b: 'idle' })
  })
})

describe('when a running engine is found', () => {
  it('keeps what plays, adds missing pipelines and removes what is not stored', async () => {
    await using api = await createTestApi()
    await store(
      api,
      record(config('kept'), 'playing'),
      record(config('lacking'), 'playing'),
      record(config('lost', { push: [], ephemeral: true }), 'playing'),
    )
    api.engine.plant(config('kept'), 'playing')
    api.engine.plant(config('stranger'), 'playing')
    await reconcile(api.deps, 'engine_found')
    expect(await phases(api)).toEqual({ kept: 'playing', lacking: 'playing' })
    expect(api.engine.calls).not.toContain('play kept')
    expect(await desires(api)).toEqual({ kept: 'playing', lacking: 'playing' })
  })

  it('keeps a triggered pipeline that still plays', async () => {
    await using api = await createTestApi()
    await store(api, record(config('published', { push: [], ephemeral: true }), 'playing'))
    api.engine.plant(config('published', { push: [], ephemeral: true }), 'playing')
    await reconcile(api.deps, 'engine_found')
    expect(await phases(api)).toEqual({ published: 'playing' })
  })

  it('completes an interrupted replacement, and stores the states requested meanwhile', async () => {
    await using api = await createTestApi()
    const stored = config('a', { source: { uri: 'rtsp://10.0.0.5/old', latency_ms: 0 } })
    await store(api, record(stored, 'playing'))
    api.engine.plant(config('a', { source: { uri: 'rtsp://10.0.0.5/new', latency_ms: 0 } }), 'idle')
    await reconcile(api.deps, 'engine_found')
    expect(api.engine.config('a')).toEqual(stored)
    expect(await desires(api)).toEqual({ a: 'ready' })
  })

  it('does not remove a pipeline that is being created', async () => {
    await using api = await createTestApi()
    const { promise, resolve } = Promise.withResolvers<void>()
    const listed = Promise.withResolvers<void>()
    api.engine.startGates.set('new', promise)
    const created = api.send('POST', '/svc/pipeline', { id: 'new', mode: 'simple', source: { uri: 'rtsp://h/' } })
    await waitForCall(api, 'play new')
    const list = api.deps.engine.list
    api.deps.engine.list = async () => {
      const views = await list()
      listed.resolve()
      return views
    }
    const reconciled = reconcile(api.deps, 'engine_found')
    await listed.promise
    resolve()
    await reconciled
    expect((await created).status).toBe(201)
    expect(await phases(api)).toEqual({ new: 'playing' })
  })
})

const waitForCall = async (api: TestApi, call: string) => {
  while (!api.engine.calls.includes(call)) await new Promise((resolve) => setImmediate(resolve))
}
