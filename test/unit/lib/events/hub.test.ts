import { describe, expect, it } from 'vitest'
import { EngineMirror, readViews } from '../../../../lib/engine/mirror.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { createEventHub } from '../../../../lib/events/hub.ts'
import type { ApiEvent } from '../../../../lib/events/replay-buffer.ts'
import type { Phase, PipelineView, Runtime } from '../../../../lib/schema/pipeline.ts'
import { pipelineRecord, START } from '../../../helpers/fakes/pipeline-record.ts'
import { pipelineView } from '../../../helpers/fakes/pipeline-view.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'
import { until } from '../../../helpers/until.ts'

const view = (id: string, phase: Phase, revision: number, more: Partial<Runtime> = {}): PipelineView => ({
  ...pipelineView(id, { phase, desired: 'playing', since: `since ${phase}`, ...more }),
  revision,
})

/** A hub over a database and an engine in memory; `database` and `engine` are awaited by every read of theirs. */
const setUp = (...ids: string[]) => {
  const world = {
    stored: new Map(ids.map((id) => [id, pipelineRecord(id)])),
    held: new Map<string, PipelineView>(),
    database: async (_id: string): Promise<void> => undefined,
    engine: async (): Promise<void> => undefined,
    events: [] as ApiEvent[],
    warnings: [] as string[],
  }
  const hold = (...views: readonly PipelineView[]) => views.forEach((held) => void world.held.set(held.id, held))
  const viewOf = (id: string): PipelineView => {
    const held = world.held.get(id)
    if (held === undefined) throw new ApiError('NOT_FOUND', 'The engine has no such pipeline.')
    return held
  }
  const list = () => world.engine().then(() => [...world.held.values()])
  const engine = { view: (id: string) => world.engine().then(() => viewOf(id)), list, listRunning: list }
  const mirror = new EngineMirror()
  const hub = createEventHub({
    pipelines: {
      find: (id) => world.database(id).then(() => world.stored.get(id)),
      list: async () => [...world.stored.values()],
    },
    views: readViews(engine, mirror),
    mirror,
    engineAtOnce: { view: async (id) => viewOf(id) },
    log: { ...silentLog, warn: (event) => void world.warnings.push(event) },
    startedAt: START,
  })
  const unsubscribe = hub.feed.subscribe({ onEvent: (event) => void world.events.push(event), onEnd: () => {} })
  const push = (...views: readonly PipelineView[]): void => {
    for (const shown of views) hub.push({ type: 'pipeline', view: shown })
  }
  const phases = () => world.events.map(({ event, data }) => (event === 'pipeline_status' ? (data as PipelineView).runtime.phase : event))
  const untilPublished = (count: number) => until(phases, ({ length }) => length >= count, 5000)
  return { world, hub, mirror, hold, push, phases, untilPublished, unsubscribe }
}

/** Nothing here waits for more than promises. */
const everythingDone = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const unavailable = () => Promise.reject(new ApiError('SERVICE_UNAVAILABLE', 'The media engine is not available right now.'))
const LOCATED = { geolocation: { latitude: 60, longitude: 24, altitude: null, heading: null } }

describe('the events of a pipeline', () => {
  it('come in the order of the engine, each change once', async () => {
    const { push, untilPublished } = setUp('a')
    const course = ['starting', 'playing', 'playing', 'reconnecting', 'playing', 'stopping', 'idle'] as const
    push(...course.map((phase, at) => view('a', phase, at + 1)))
    expect(await untilPublished(6)).toEqual(['starting', 'playing', 'reconnecting', 'playing', 'stopping', 'idle'])
  })

  it('report restarts, errors, what is served, KLV, screenshots, pushes and a new phase, but not counters', async () => {
    const { push, hub, phases } = setUp('a')
    const base = view('a', 'playing', 1)
    const receiver = { uri: 'udp://127.0.0.1:5000', since: 'now', last_error: null, bytes: 0 } as const
    const counted = { frames: 9, fps: 25, readers: 3, bitrate_kbps: 100, last_frame_age_ms: 4 }
    const changes: PipelineView[] = [
      view('a', 'playing', 3, { restarts: 1 }),
      view('a', 'playing', 4, { restarts: 1, last_error: { code: 'ENGINE_ERROR', message: 'broken', at: 'now' } }),
      { ...base, revision: 5, klv: { available: true, state: 'stopped' } },
      { ...base, revision: 6, screenshots: { state: 'playing', interval_seconds: 1, quality: 85 } },
      view('a', 'playing', 7, { since: 'later' }),
      // Its codec may become known when the pipeline plays already.
      view('a', 'playing', 8, { audio: { codec: 'aac', rate: 48_000, channels: 2, carried: true, reason: null } }),
      view('a', 'playing', 9, { video: { codec: 'h264', width: 640, height: 360, fps: 25 } }),
      view('a', 'playing', 11, { push: [{ ...receiver, state: 'connecting' }] }),
      view('a', 'playing', 12, { push: [{ ...receiver, state: 'sending' }] }),
    ]
    const counters = [
      view('a', 'playing', 2, counted),
      view('a', 'playing', 10, { video: { codec: 'h264', width: 640, height: 360, fps: 30 } }),
      view('a', 'playing', 13, { push: [{ ...receiver, state: 'sending', bytes: 99 }] }),
    ]
    push(base, ...[...changes, ...counters].sort((one, other) => one.revision - other.revision))
    hub.removed('a')
    await until(phases, (published) => published.includes('pipeline_not_found'), 5000)
    expect(phases()).toHaveLength(1 + changes.length + 1)
  })

  it('report other defaults of the screenshots, which have no event of their own, and nothing older than the events', async () => {
    const { world, hub, hold, push, untilPublished, phases } = setUp('a', 'b', 'c')
    const screenshots = { state: 'stopped', interval_seconds: 77, quality: 85 } as const
    const before = ['a', 'b', 'c'].map((id) => view(id, 'idle', 1))
    await hub.resync(before)
    hold(...before.map((shown) => ({ ...shown, screenshots })))
    // An event that came after the list was made, and one that the list is ahead of.
    push({ ...view('b', 'starting', 2), screenshots })
    hold({ ...view('c', 'playing', 3), screenshots })
    hub.push({ type: 'relist' })
    await untilPublished(5)
    await everythingDone()
    expect(phases().slice(3)).toEqual(['starting', 'idle'])
    expect(world.events[4]).toMatchObject({ pipelineId: 'a', data: { screenshots } })
    hub.push({ type: 'relist' })
    await everythingDone()
    expect(world.events).toHaveLength(5)
  })

  it('are not sent before the pipeline is stored, and then with the newest view of the engine', async () => {
    const { world, hub, hold, push, untilPublished, phases } = setUp()
    push(view('a', 'starting', 1))
    hub.push({ type: 'pipeline_error', id: 'a', code: 'ENGINE_ERROR', message: 'not yet', cause: 'not yet', reason: 'unreachable' })
    await everythingDone()
    expect(phases()).toEqual([])
    world.stored.set('a', pipelineRecord('a'))
    hold(view('a', 'playing', 3))
    hub.changed('a')
    push(view('a', 'starting', 2), view('a', 'playing', 3), view('a', 'failed', 4))
    expect(await untilPublished(2)).toEqual(['playing', 'failed'])
  })

  it('have the mirrored view while nobody subscribes, without a call of the engine', async () => {
    const { world, hub, mirror, unsubscribe, phases } = setUp('a', 'b')
    world.engine = () => Promise.reject(new Error('called'))
    mirror.begin({ engine: 'one', revision: 0 })
    mirror.push({ type: 'pipeline', view: view('a', 'playing', 1) })
    unsubscribe()
    hub.changed('a')
    hub.changed('b')
    await everythingDone()
    const kept = hub.feed.missedSince(`${START.toString(36)}-0`, () => true)
    expect(kept.map(({ data }) => (data as PipelineView).runtime.phase)).toEqual(['playing', 'idle'])
    expect([phases(), world.warnings]).toEqual([[], []])
  })

  it('follow a view of the engine that is ahead of them', async () => {
    const { world, hub, hold, push, untilPublished } = setUp('a')
    await hub.resync([view('a', 'idle', 1)])
    hold(view('a', 'playing', 3))
    world.stored.set('a', pipelineRecord('a', {}, LOCATED))
    hub.changed('a')
    push(view('a', 'starting', 2), view('a', 'playing', 3))
    expect(await untilPublished(4)).toEqual(['idle', 'idle', 'starting', 'playing'])
  })

  it('show a pipeline that the engine has removed as idle, and then as it is registered anew', async () => {
    const { hub, push, untilPublished } = setUp('a')
    push(view('a', 'playing', 1))
    hub.push({ type: 'pipeline_removed', id: 'a' })
    hub.changed('a')
    push(view('a', 'starting', 3))
    expect(await untilPublished(3)).toEqual(['playing', 'idle', 'starting'])
  })

  it('have the view of the stream while a pipeline is at rest, which the engine is not asked for', async () => {
    const { hub, mirror, hold, untilPublished } = setUp('a')
    mirror.begin({ engine: 'first', revision: 0 })
    mirror.push({ type: 'pipeline', view: view('a', 'idle', 1) })
    hold(view('a', 'playing', 2))
    hub.changed('a')
    expect(await untilPublished(1)).toEqual(['idle'])
  })

  it('have message, cause and reason of errors, with masked credentials', async () => {
    const { world, hub, push, untilPublished } = setUp('a')
    const message = 'rtsp://bob:hunter2@h/ is away'
    const error = { code: 'ENGINE_ERROR', reason: 'unreachable' }
    hub.push({ type: 'pipeline_error', id: 'a', ...error, message, cause: message })
    await untilPublished(1)
    const data = { pipeline_id: 'a', ...error, message: 'rtsp://***@h/ is away', cause: 'rtsp://***@h/ is away' }
    expect(world.events[0]).toMatchObject({ event: 'pipeline_error', pipelineId: 'a', data })
    push(view('a', 'playing', 1))
    await untilPublished(2)
    expect(JSON.stringify(world.events)).not.toContain('hunter2')
  })

  it('do not wait for those of another pipeline', async () => {
    const { world, push, untilPublished } = setUp('slow', 'quick')
    const gate = Promise.withResolvers<void>()
    world.database = (id) => (id === 'slow' ? gate.promise : Promise.resolve())
    push(view('slow', 'playing', 1), view('quick', 'playing', 2))
    await untilPublished(1)
    expect(world.events[0]?.pipelineId).toBe('quick')
    gate.resolve()
    await untilPublished(2)
  })

  it('end with the current status when they come faster than the database answers', async () => {
    const { world, hold, push, phases } = setUp('a')
    const gate = Promise.withResolvers<void>()
    world.database = () => gate.promise
    for (let restarts = 0; restarts < 1000; restarts += 1) push(view('a', 'reconnecting', restarts, { restarts }))
    hold(view('a', 'playing', 1000, { restarts: 1000 }))
    gate.resolve()
    await until(phases, (published) => published.at(-1) === 'playing', 5000)
    expect(phases().length).toBeLessThan(100)
    expect(world.warnings).toEqual([])
  })

  it('continue after the database failed once', async () => {
    const { world, push, untilPublished } = setUp('a')
    world.database = () => Promise.reject(new Error('locked'))
    push(view('a', 'starting', 1))
    await expect.poll(() => world.warnings).toHaveLength(1)
    world.database = async () => undefined
    push(view('a', 'playing', 2))
    expect(await untilPublished(1)).toEqual(['playing'])
  })
})

describe('when the engine was lost and found again', () => {
  it('only what changed is published', async () => {
    const { world, hub, phases } = setUp('same', 'stopped', 'lost', 'deleted')
    await hub.resync(['same', 'stopped', 'lost', 'deleted'].map((id) => view(id, 'playing', 9)))
    world.events.length = 0
    world.stored.delete('deleted')
    await hub.resync([view('same', 'playing', 1, { frames: 7 }), view('stopped', 'idle', 2)])
    const published = phases().map((phase, at) => `${world.events[at]?.pipelineId} ${phase}`)
    expect(published.sort()).toEqual(['deleted pipeline_not_found', 'lost idle', 'stopped idle'])
  })

  it('a client that missed its first status gets it then, also when nothing changed', async () => {
    const { world, hub, phases } = setUp('a')
    await hub.resync([view('a', 'playing', 1)])
    world.engine = unavailable
    await expect(hub.status('a')).rejects.toThrow('not available')
    await expect(hub.allStatuses()).rejects.toThrow('not available')
    await hub.resync([view('a', 'playing', 1)])
    await hub.resync([view('a', 'playing', 1)])
    expect(phases()).toEqual(['playing', 'playing'])
  })

  it('no status that waits for the engine holds it up', async () => {
    const { world, hub, hold, phases } = setUp('a')
    world.engine = () => new Promise(() => {})
    hold(view('a', 'idle', 1))
    hub.changed('a')
    await hub.resync([view('a', 'playing', 2)])
    expect(phases()).toEqual(['idle', 'playing'])
  })

  it('events that its list is ahead of are not published, those after it are, in the order of their revisions', async () => {
    const { hub, push, untilPublished, phases } = setUp('a')
    await hub.resync([view('a', 'playing', 90)])
    // Another engine has registered and started the pipeline when it is listed; its events are read afterwards.
    await hub.resync([view('a', 'starting', 2)])
    push(view('a', 'idle', 1), view('a', 'starting', 2), view('a', 'playing', 3), view('a', 'idle', 4))
    expect(await untilPublished(4)).toEqual(['playing', 'starting', 'playing', 'idle'])
    await everythingDone()
    expect(phases()).toHaveLength(4)
  })
})

describe('the first status', () => {
  it('is the present status with current counters', async () => {
    const { world, hub, hold } = setUp('a')
    await hub.resync([view('a', 'playing', 1)])
    hold(view('a', 'playing', 1, { frames: 100 }))
    const current = await hub.status('a')
    expect(current()).toMatchObject([{ event: 'pipeline_status', id: world.events.at(-1)?.id, data: { runtime: { frames: 100 } } }])
  })

  it('is made when it is sent: no newer than the events that follow it, and no older than those before', async () => {
    const { hub, hold, push, untilPublished } = setUp('a')
    await hub.resync([view('a', 'idle', 1)])
    hold(view('a', 'playing', 2))
    const current = await hub.status('a')
    expect(current()).toMatchObject([{ data: { runtime: { phase: 'idle' } } }])
    push(view('a', 'playing', 2))
    await untilPublished(2)
    expect(current()).toMatchObject([{ data: { runtime: { phase: 'playing' } } }])
  })

  it('has what changed in the database while the engine was asked', async () => {
    const { world, hub, hold } = setUp('a', 'b')
    const answer = Promise.withResolvers<void>()
    world.engine = () => answer.promise
    hold(view('a', 'playing', 1), view('b', 'playing', 2))
    const [one, all] = [hub.status('a'), hub.allStatuses()]
    await everythingDone()
    world.stored.set('a', pipelineRecord('a', {}, LOCATED))
    world.stored.delete('b')
    answer.resolve()
    const expected = [expect.objectContaining({ data: expect.objectContaining({ id: 'a', ...LOCATED }) })]
    expect([(await one)(), (await all)()]).toEqual([expected, expected])
  })

  it('of all has one status each, also of one that the engine does not know, and of a deleted pipeline none', async () => {
    const { hub, hold } = setUp('a', 'b')
    hold(view('a', 'playing', 1))
    const current = await hub.allStatuses()
    const statuses = [
      { id: 'a', state: 'playing' },
      { id: 'b', state: 'ready' },
    ]
    expect([current().map(({ data }) => data), (await hub.status('nobody'))()]).toMatchObject([statuses, []])
  })
})
