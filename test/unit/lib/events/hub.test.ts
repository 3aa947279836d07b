import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../../lib/errors.ts'
import { createEventFeed } from '../../../../lib/events/feed.ts'
import { createEventHub } from '../../../../lib/events/hub.ts'
import { createListedViews } from '../../../../lib/events/listed-views.ts'
import type { ApiEvent } from '../../../../lib/events/replay-buffer.ts'
import type { PipelineRecord } from '../../../../lib/repositories/repositories.ts'
import type { Phase, PipelineView, Runtime } from '../../../../lib/schema/pipeline.ts'
import { pipelineView } from '../../../helpers/fakes/pipeline-view.ts'
import { until } from '../../../helpers/until.ts'

const START = Date.parse('2026-11-20T10:00:00.000Z')

const view = (id: string, phase: Phase, more: Partial<Runtime> = {}): PipelineView =>
  pipelineView(id, { phase, desired: 'playing', since: `since ${phase}`, ...more })

const record = (id: string): PipelineRecord => ({
  config: {
    id,
    mode: 'simple',
    on_demand: false,
    source: { uri: 'rtsp://user:hunter2@10.0.0.5/stream', latency_ms: 200 },
    encoding: null,
    output: { uri: `rtsp://0.0.0.0:50000/${id}` },
    klv_config: { pass_klv: false, auto_extract_geolocation: false },
    push: [],
    ephemeral: false,
  },
  geolocation: null,
  desired: 'playing',
  trigger_path: null,
  created_at: START,
  updated_at: START,
})

/** A hub over a database and an engine in memory; `database` is awaited by every read. */
const setUp = (...ids: string[]) => {
  const world = {
    stored: new Map(ids.map((id) => [id, record(id)])),
    held: new Map<string, PipelineView>(),
    reachable: true,
    database: async (_id: string): Promise<void> => undefined,
    events: [] as ApiEvent[],
    warnings: [] as string[],
  }
  const ask = <T>(answer: () => T): T => {
    if (!world.reachable) throw new ApiError('SERVICE_UNAVAILABLE', 'The media engine is not available right now.')
    return answer()
  }
  const hub = createEventHub({
    pipelines: {
      find: async (id) => {
        await world.database(id)
        return world.stored.get(id)
      },
      list: async () => [...world.stored.values()],
    },
    engine: {
      view: async (id) =>
        ask(() => {
          const held = world.held.get(id)
          if (held === undefined) throw new ApiError('NOT_FOUND', 'The engine has no such pipeline.')
          return held
        }),
      list: async () => ask(() => [...world.held.values()]),
    },
    log: { debug: () => {}, info: () => {}, error: () => {}, warn: (event) => void world.warnings.push(event) },
    startedAt: START,
  })
  const unsubscribe = hub.feed.subscribe({ onEvent: (event) => void world.events.push(event), onEnd: () => {} })
  const phases = () => world.events.map(({ event, data }) => (event === 'pipeline_status' ? (data as PipelineView).runtime.phase : event))
  const untilTold = (count: number) => until(phases, ({ length }) => length >= count, 5000)
  return { world, hub, phases, untilTold, unsubscribe }
}

/** Nothing here waits for more than promises. */
const everythingDone = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('the way back of the engine', () => {
  it('does not wait for a status that would wait for the engine', async () => {
    const gone = async (): Promise<never> => {
      throw new ApiError('SERVICE_UNAVAILABLE', 'The media engine is not available right now.')
    }
    const hub = createEventHub({
      pipelines: { find: async (id) => record(id), list: async () => [record('a')] },
      engine: { view: () => new Promise(() => {}), list: () => new Promise(() => {}) },
      engineAtOnce: { view: gone },
      log: { debug: () => {}, info: () => {}, error: () => {}, warn: () => {} },
      startedAt: START,
    })
    const events: ApiEvent[] = []
    hub.feed.subscribe({ onEvent: (event) => void events.push(event), onEnd: () => {} })
    hub.changed('a')
    await hub.resync([view('a', 'playing')])
    expect(events).toMatchObject([{ event: 'pipeline_status', data: { runtime: { phase: 'playing' } } }])
    hub.feed.close()
  })
})

describe('the events of a pipeline', () => {
  it('come in the order of the engine, each change once', async () => {
    const { hub, untilTold } = setUp('a')
    for (const phase of ['starting', 'playing', 'playing', 'reconnecting', 'playing', 'stopping', 'idle'] as const) {
      hub.push({ type: 'pipeline', view: view('a', phase) })
    }
    expect(await untilTold(6)).toEqual(['starting', 'playing', 'reconnecting', 'playing', 'stopping', 'idle'])
  })

  it('report restarts, errors, KLV, screenshots and a new phase, but not counters', async () => {
    const { hub, phases } = setUp('a')
    const base = view('a', 'playing')
    const counted = { frames: 9, fps: 25, readers: 3, bitrate_kbps: 100, last_frame_age_ms: 4 }
    const changes: PipelineView[] = [
      view('a', 'playing', { restarts: 1 }),
      view('a', 'playing', { restarts: 1, last_error: { code: 'ENGINE_ERROR', message: 'broken', at: 'now' } }),
      { ...base, klv: { available: true, state: 'stopped' } },
      { ...base, screenshots: { state: 'playing', interval_seconds: 1, quality: 85 } },
      view('a', 'playing', { since: 'later' }),
    ]
    hub.push({ type: 'pipeline', view: base })
    hub.push({ type: 'pipeline', view: view('a', 'playing', counted) })
    for (const changed of changes) hub.push({ type: 'pipeline', view: changed })
    hub.removed('a')
    await until(phases, (told) => told.includes('pipeline_not_found'), 5000)
    expect(phases()).toHaveLength(1 + changes.length + 1)
  })

  it('report other defaults of the screenshots, which have no event of their own, and nothing older than the events', async () => {
    const { world, hub, untilTold, phases } = setUp('a', 'b', 'c')
    const screenshots = { state: 'stopped', interval_seconds: 77, quality: 85 } as const
    const before = ['a', 'b', 'c'].map((id) => ({ ...view(id, 'idle'), revision: 1 }))
    await hub.resync(before)
    await untilTold(3)
    hub.push({ type: 'heartbeat' })
    for (const shown of before) world.held.set(shown.id, { ...shown, screenshots })
    // An event that came after the list was made, and one that the list is ahead of.
    hub.push({ type: 'pipeline', view: { ...view('b', 'starting'), screenshots, revision: 2 } })
    world.held.set('c', { ...view('c', 'playing'), screenshots, revision: 3 })
    hub.push({ type: 'heartbeat', relist: true })
    await untilTold(5)
    await everythingDone()
    expect(phases().slice(3)).toEqual(['starting', 'idle'])
    expect(world.events[4]).toMatchObject({ pipelineId: 'a', data: { screenshots } })
    hub.push({ type: 'heartbeat', relist: true })
    await everythingDone()
    expect(world.events).toHaveLength(5)
  })

  it('are not sent before the pipeline is stored, and then with the newest view of the engine', async () => {
    const { world, hub, untilTold, phases } = setUp()
    hub.push({ type: 'pipeline', view: view('a', 'starting') })
    hub.push({ type: 'pipeline_error', id: 'a', code: 'ENGINE_ERROR', message: 'not yet', cause: 'not yet', reason: 'unreachable' })
    await everythingDone()
    expect(phases()).toEqual([])
    world.stored.set('a', record('a'))
    world.held.set('a', view('a', 'playing'))
    hub.changed('a')
    hub.push({ type: 'pipeline', view: view('a', 'playing') })
    // The view of the engine is newer than its events, which come first.
    expect(await untilTold(2)).toEqual(['starting', 'playing'])
  })

  it('have message, cause and reason of errors, with masked credentials', async () => {
    const { world, hub, untilTold } = setUp('a')
    const message = 'rtsp://bob:hunter2@h/ is away'
    hub.push({ type: 'pipeline_error', id: 'a', code: 'ENGINE_ERROR', message, cause: message, reason: 'unreachable' })
    await untilTold(1)
    expect(world.events[0]).toMatchObject({
      event: 'pipeline_error',
      pipelineId: 'a',
      data: {
        pipeline_id: 'a',
        message: 'rtsp://***@h/ is away',
        code: 'ENGINE_ERROR',
        cause: 'rtsp://***@h/ is away',
        reason: 'unreachable',
      },
    })
    hub.push({ type: 'pipeline', view: view('a', 'playing') })
    await untilTold(2)
    expect(JSON.stringify(world.events)).not.toContain('hunter2')
  })

  it('do not wait for those of another pipeline', async () => {
    const { world, hub, untilTold } = setUp('slow', 'quick')
    const gate = Promise.withResolvers<void>()
    world.database = (id) => (id === 'slow' ? gate.promise : Promise.resolve())
    hub.push({ type: 'pipeline', view: view('slow', 'playing') })
    hub.push({ type: 'pipeline', view: view('quick', 'playing') })
    await untilTold(1)
    expect(world.events[0]?.pipelineId).toBe('quick')
    gate.resolve()
    await untilTold(2)
  })

  it('end with the current status when they come faster than the database answers', async () => {
    const { world, hub, phases } = setUp('a')
    const gate = Promise.withResolvers<void>()
    world.database = () => gate.promise
    for (let restarts = 0; restarts < 1000; restarts += 1) hub.push({ type: 'pipeline', view: view('a', 'reconnecting', { restarts }) })
    world.held.set('a', view('a', 'playing', { restarts: 1000 }))
    gate.resolve()
    await until(phases, (told) => told.at(-1) === 'playing', 5000)
    expect(phases().length).toBeLessThan(100)
    expect(world.warnings).toEqual([])
  })

  it('continue after the database failed once', async () => {
    const { world, hub, untilTold } = setUp('a')
    world.database = () => Promise.reject(new Error('locked'))
    hub.push({ type: 'pipeline', view: view('a', 'starting') })
    await until(
      () => world.warnings,
      ({ length }) => length === 1,
      5000,
    )
    world.database = async () => undefined
    hub.push({ type: 'pipeline', view: view('a', 'playing') })
    expect(await untilTold(1)).toEqual(['playing'])
  })
})

describe('when the engine was lost and found again', () => {
  it('only what changed is published', async () => {
    const { world, hub, phases } = setUp('same', 'stopped', 'lost', 'deleted')
    const before = ['same', 'stopped', 'lost', 'deleted'].map((id) => view(id, 'playing'))
    await hub.resync(before)
    world.events.length = 0
    world.stored.delete('deleted')
    await hub.resync([view('same', 'playing', { frames: 7 }), view('stopped', 'idle')])
    expect(world.events.map(({ pipelineId }) => pipelineId)).toEqual(['stopped', 'lost', 'deleted'])
    expect(phases()).toEqual(['idle', 'idle', 'pipeline_not_found'])
  })

  it('a client that missed its first status gets it then, also when nothing changed', async () => {
    const { world, hub, phases } = setUp('a')
    await hub.resync([view('a', 'playing')])
    world.reachable = false
    await expect(hub.status('a')).rejects.toThrow('not available')
    await expect(hub.allStatuses()).rejects.toThrow('not available')
    world.reachable = true
    await hub.resync([view('a', 'playing')])
    await hub.resync([view('a', 'playing')])
    expect(phases()).toEqual(['playing', 'playing'])
  })
})

describe('events that are older than the list of a resync', () => {
  const at = (phase: Phase, since: number, more: Partial<Runtime> = {}) =>
    view('a', phase, { since: new Date(START + since).toISOString(), ...more })

  it('are not published: no idle between starting and playing of another engine', async () => {
    const { hub, untilTold, phases } = setUp('a')
    await hub.resync([at('playing', 0)])
    // The engine was lost. Another one has registered and started the pipeline when it is listed; its events are read afterwards.
    await hub.resync([at('starting', 1002)])
    for (const event of [at('idle', 1000), at('starting', 1002), at('playing', 1300)]) hub.push({ type: 'pipeline', view: event })
    expect(await untilTold(3)).toEqual(['playing', 'starting', 'playing'])
    await everythingDone()
    expect(phases()).toHaveLength(3)
  })

  it('are not published when the list is ahead by several phases, or within one millisecond', async () => {
    const { hub, phases } = setUp('a')
    await hub.resync([at('playing', 1300)])
    for (const event of [at('idle', 1000), at('starting', 1000), at('playing', 1300)]) hub.push({ type: 'pipeline', view: event })
    await everythingDone()
    expect(phases()).toEqual(['playing'])
    await hub.resync([at('starting', 2000)])
    hub.push({ type: 'pipeline', view: at('idle', 2000) })
    await everythingDone()
    expect(phases()).toEqual(['playing', 'starting'])
  })

  it('are published as usual once the events have come as far as the list', async () => {
    const { hub, untilTold } = setUp('a')
    await hub.resync([at('playing', 1300)])
    // A clock that was set back makes later events seem older.
    for (const event of [at('playing', 1300), at('stopping', 900), at('idle', 950)]) hub.push({ type: 'pipeline', view: event })
    expect(await untilTold(3)).toEqual(['playing', 'stopping', 'idle'])
  })
})

describe('the list of a resync', () => {
  it('is ahead of older events for five seconds', () => {
    let now = 0
    const listed = createListedViews(() => now)
    const at = (phase: Phase, since: number) => view('a', phase, { since: new Date(START + since).toISOString() })
    listed.set('a', at('playing', 1300))
    expect(listed.isAheadOf(at('starting', 1000))).toBe(true)
    now = 5000
    expect(listed.isAheadOf(at('starting', 1000))).toBe(false)
  })
})

describe('the first status', () => {
  it('is the present status with current counters', async () => {
    const { world, hub } = setUp('a')
    await hub.resync([view('a', 'playing')])
    world.held.set('a', view('a', 'playing', { frames: 100 }))
    const current = await hub.status('a')
    expect(current()).toMatchObject([{ event: 'pipeline_status', id: world.events.at(-1)?.id, data: { runtime: { frames: 100 } } }])
  })

  it('is never newer than the events that follow it', async () => {
    const { world, hub } = setUp('a')
    await hub.resync([view('a', 'idle')])
    world.held.set('a', view('a', 'playing'))
    const current = await hub.status('a')
    expect(current()).toMatchObject([{ data: { runtime: { phase: 'idle' } } }])
  })

  it('is made when it is sent, and includes changes since it was requested', async () => {
    const { world, hub, untilTold } = setUp('a')
    await hub.resync([view('a', 'idle')])
    const current = await hub.status('a')
    world.held.set('a', view('a', 'playing'))
    hub.push({ type: 'pipeline', view: view('a', 'playing') })
    await untilTold(2)
    expect(current()).toMatchObject([{ data: { runtime: { phase: 'playing' } } }])
  })

  it('has what changed in the database while the engine was asked', async () => {
    const answer = Promise.withResolvers<void>()
    const stored = new Map(['a', 'b'].map((id) => [id, record(id)]))
    const answered = async <T>(value: T): Promise<T> => {
      await answer.promise
      return value
    }
    const hub = createEventHub({
      pipelines: { find: async (id) => stored.get(id), list: async () => [...stored.values()] },
      engine: { view: (id) => answered(view(id, 'playing')), list: () => answered([view('a', 'playing'), view('b', 'playing')]) },
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      startedAt: START,
    })
    const [one, all] = [hub.status('a'), hub.allStatuses()]
    await everythingDone()
    const geolocation = { latitude: 60, longitude: 24, altitude: null, heading: null }
    stored.set('a', { ...record('a'), geolocation })
    stored.delete('b')
    answer.resolve()
    expect((await one)()).toMatchObject([{ data: { id: 'a', geolocation } }])
    expect((await all)()).toMatchObject([{ data: { id: 'a', geolocation } }])
    expect((await all)()).toHaveLength(1)
  })

  it('of all pipelines has one status each, also for a pipeline that the engine does not know', async () => {
    const { world, hub } = setUp('a', 'b')
    world.held.set('a', view('a', 'playing'))
    const current = await hub.allStatuses()
    expect(current().map(({ data }) => data)).toMatchObject([
      { id: 'a', state: 'playing' },
      { id: 'b', state: 'ready' },
    ])
  })

  it('of a deleted pipeline is empty', async () => {
    const { hub } = setUp()
    expect((await hub.status('nobody'))()).toEqual([])
  })
})

describe('the feed', () => {
  const publish = (count: number, more: { frequent?: boolean } = {}) => {
    const feed = createEventFeed('p')
    for (let at = 0; at < count; at += 1) feed.publish({ event: 'e', pipelineId: 'a', data: at, ...more })
    return feed
  }
  const all = () => true

  it('replays the events after an id', () => {
    const feed = publish(5)
    expect(feed.missedSince('p-3', all).map(({ id }) => id)).toEqual(['p-4', 'p-5'])
    expect(feed.missedSince('p-0', all)).toHaveLength(5)
    expect(feed.missedSince('p-5', all)).toEqual([])
  })

  it('replays nothing for a foreign id', () => {
    const feed = publish(5)
    for (const id of [null, '', 'q-3', 'p-', 'p-x', 'p-6', 'p--1', 'p-1e3', '3', `p-${'9'.repeat(400)}`]) {
      expect([id, feed.missedSince(id, all), feed.resumes(id)]).toEqual([id, [], false])
    }
  })

  it('keeps a bounded number and reports when it cannot resume', () => {
    const feed = publish(3000)
    expect(feed.missedSince('p-10', all)).toHaveLength(1000)
    expect(feed.resumes('p-1999')).toBe(false)
    expect(feed.resumes('p-2000')).toBe(true)
  })

  it('does not let frequent events push out the others, and replays both in order', () => {
    const feed = publish(10)
    for (let count = 0; count < 5000; count += 1) feed.publish({ event: 'klv', pipelineId: 'a', data: count, frequent: true })
    feed.publish({ event: 'e', pipelineId: 'a', data: 'last' })
    expect(feed.resumes('p-0')).toBe(true)
    expect(feed.missedSince('p-0', ({ event }) => event === 'e')).toHaveLength(11)
    expect(feed.missedSince('p-5000', all).map(({ id }) => id)).toEqual([...Array(11).keys()].map((at) => `p-${5001 + at}`))
  })

  it('ends its subscribers, present and future', () => {
    const feed = publish(0)
    const ended: string[] = []
    feed.subscribe({ onEvent: () => {}, onEnd: () => void ended.push('first') })
    feed.close()
    feed.subscribe({ onEvent: () => {}, onEnd: () => void ended.push('late') })
    expect([ended, feed.subscribers]).toEqual([['first', 'late'], 0])
  })
})
