import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../../lib/errors.ts'
import { reconcile, startUnlicensed } from '../../../../lib/pipelines/reconcile.ts'
import type { PipelineRecord } from '../../../../lib/repositories/repositories.ts'
import { openApi, START, simple, type TestApi } from '../../../helpers/api/api.ts'
import { pipelineConfig as config, pipelineRecord } from '../../../helpers/fakes/pipeline-record.ts'

const record = (id: string, more: object = {}, desired: PipelineRecord['desired'] = 'playing') => pipelineRecord(id, more, { desired })
const published = pipelineRecord('published', { ephemeral: true }, { trigger_path: 'published' })
const sourceOf = (uri: string) => ({ source: { uri, latency_ms: 0 } })

/** An API whose database holds these pipelines, and whose engine holds none. */
const given = (...records: readonly PipelineRecord[]): Promise<TestApi> =>
  openApi(async ({ deps }) => {
    for (const one of records) await deps.pipelines.insert(one)
  })

const phases = async (api: TestApi) => Object.fromEntries((await api.engine.list()).map(({ id, runtime }) => [id, runtime.phase]))
const desires = async (api: TestApi) =>
  Object.fromEntries((await api.deps.pipelines.list()).map(({ config: { id }, desired }) => [id, desired]))

const halted = pipelineRecord('halted', {}, { desired: 'ready', stopped: true })
const everyKind = [record('always'), record('failed', {}, 'ready'), record('demand', { on_demand: true })]

describe('when the service starts', () => {
  it('plays all but on-demand and stopped pipelines, registers those, and removes triggered ones', async () => {
    const api = await given(...everyKind, halted, published)
    await reconcile(api.deps, 'service_start')
    expect(await phases(api)).toEqual({ always: 'playing', failed: 'playing', halted: 'idle', demand: 'idle' })
    expect(await desires(api)).toEqual({ always: 'playing', failed: 'playing', halted: 'ready', demand: 'ready' })
  })

  it('does not wait for a change that itself waits for the engine, and settles the pipeline again after it', async () => {
    const api = await given(record('busy'), published)
    const ready = Promise.withResolvers<void>()
    const changes = ['busy', 'published'].map((id) => api.deps.changes(id, () => ready.promise))
    await reconcile(api.deps, 'service_start')
    // The change of the triggered one may be a trigger that starts it again.
    expect(await desires(api)).toEqual({ busy: 'playing', published: 'playing' })
    expect(await phases(api)).toEqual({ busy: 'playing' })
    await api.engine.stop('busy')
    ready.resolve()
    await Promise.all(changes)
    await expect.poll(() => desires(api)).toEqual({ busy: 'ready' })
  })

  it('sends the settings first, without those that this version refuses, which it logs', async () => {
    const api = await given(record('a'))
    await api.deps.settings.write({ start_timeout_seconds: 999, stall_timeout_seconds: 42 }, START)
    await reconcile(api.deps, 'service_start')
    expect(api.engine.calls.filter((call) => !call.startsWith('view'))[0]).toBe('configure')
    expect(api.engine.settings()).toMatchObject({ start_timeout_seconds: 10, stall_timeout_seconds: 42 })
    const logged = api.logged.filter(({ event }) => event === 'settings_refused')
    expect(logged.map(({ fields }) => fields.fields)).toEqual([['start_timeout_seconds']])
  })

  it('continues with the others when one fails', async () => {
    const api = await given(record('a'), record('file', sourceOf('file:///x')), record('z'))
    api.engine.startFaults.set('a', new ApiError('PIPELINE_START_TIMEOUT', 'Nothing came.'))
    await reconcile(api.deps, 'service_start')
    expect(await phases(api)).toEqual({ a: 'failed', z: 'playing' })
    expect(api.logged).toContainEqual({ level: 'warn', event: 'pipeline_not_reconciled', fields: expect.objectContaining({ id: 'file' }) })
  })

  it('starts no more than the license allows', async () => {
    const api = await given(...['a', 'b', 'c'].map((id) => record(id)))
    api.license = '{"licensee":"x","codecs":["h264"],"max_streams":2}'
    await reconcile(api.deps, 'service_start')
    expect(await phases(api)).toEqual({ a: 'playing', b: 'playing', c: 'idle' })
  })

  it('starts what the license refused when there is another license, unless it was stopped or deleted', async () => {
    const api = await given(...['a', 'b', 'c', 'd'].map((id) => record(id)))
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
    const api = await given(record('a'))
    const { put } = api.deps.engine
    api.deps.engine.put = (...call) => {
      api.engine.reachable = false
      return put(...call)
    }
    await expect(reconcile(api.deps, 'service_start')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })
})

describe('when the engine was restarted', () => {
  it('plays what was playing, on-demand or not', async () => {
    const api = await given(...everyKind, published)
    await reconcile(api.deps, 'engine_restarted')
    expect(await phases(api)).toEqual({ always: 'playing', failed: 'idle', demand: 'playing', published: 'playing' })
  })

  it('restores the states that the API requested', async () => {
    const api = await given()
    for (const id of ['a', 'b']) await api.given(simple(id))
    await api.send('PUT', '/svc/pipeline/b/stop')
    api.engine.restart()
    await reconcile(api.deps, 'engine_restarted')
    expect(await phases(api)).toEqual({ a: 'playing', b: 'idle' })
  })
})

describe('when a running engine is found', () => {
  it('keeps what plays, adds missing pipelines and removes what is not stored, or was triggered and is lost', async () => {
    const api = await given(record('kept'), record('lacking'), published, record('lost', { ephemeral: true }))
    for (const planted of [config('kept'), published.config, config('stranger')]) api.engine.plant(planted, 'playing')
    await reconcile(api.deps, 'engine_found')
    expect(await phases(api)).toEqual({ kept: 'playing', lacking: 'playing', published: 'playing' })
    expect(await desires(api)).toEqual({ kept: 'playing', lacking: 'playing', published: 'playing' })
    expect(api.engine.calls).not.toContain('play kept')
  })

  it('completes an interrupted replacement, and stores the states requested meanwhile', async () => {
    const stored = record('a', sourceOf('rtsp://10.0.0.5/old'))
    const api = await given(stored)
    api.engine.plant(config('a', sourceOf('rtsp://10.0.0.5/new')), 'idle')
    await reconcile(api.deps, 'engine_found')
    expect(api.engine.config('a')).toEqual(stored.config)
    expect(await desires(api)).toEqual({ a: 'ready' })
  })

  it('does not remove a pipeline that is being created', async () => {
    const api = await given()
    const gate = Promise.withResolvers<void>()
    const listed = Promise.withResolvers<void>()
    api.engine.startGates.set('new', gate.promise)
    const created = api.send('POST', '/svc/pipeline', simple('new'))
    await expect.poll(() => api.engine.calls).toContain('play new')
    const { list } = api.deps.engine
    api.deps.engine.list = () => list().finally(listed.resolve)
    const reconciled = reconcile(api.deps, 'engine_found')
    await listed.promise
    gate.resolve()
    await reconciled
    expect((await created).status).toBe(201)
    expect(await phases(api)).toEqual({ new: 'playing' })
  })
})
