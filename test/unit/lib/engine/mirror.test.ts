import { describe, expect, it } from 'vitest'
import type { EngineEvent } from '../../../../lib/engine/messages.ts'
import { aged, EngineMirror, readViews } from '../../../../lib/engine/mirror.ts'
import { ApiError } from '../../../../lib/errors.ts'
import type { Phase, PipelineView, Runtime } from '../../../../lib/schema/pipeline.ts'
import { pipelineView } from '../../../helpers/fakes/pipeline-view.ts'

const view = (id: string, phase: Phase, revision: number, runtime: Partial<Runtime> = {}): PipelineView => ({
  ...pipelineView(id, { phase, ...runtime }),
  revision,
})

const changed = (id: string, phase: Phase, revision: number): EngineEvent => ({
  type: 'pipeline',
  view: view(id, phase, revision),
  revision,
})
const removed = (id: string, revision: number): EngineEvent => ({ type: 'pipeline_removed', id, revision })
const HEARTBEAT: EngineEvent = { type: 'heartbeat' }
const RELIST = (revision: number): EngineEvent => ({ type: 'heartbeat', relist: true, revision })

/** A mirror that follows the engine `one` from a revision on, and has its list. */
const setUp = async (views: readonly PipelineView[] = [view('a', 'idle', 1)], revision = 5) => {
  const clock = { ms: 1000 }
  const mirror = new EngineMirror(() => clock.ms)
  mirror.begin({ type: 'heartbeat', engine: 'one', revision })
  await mirror.fill(async () => views)
  const phase = (id = 'a'): Phase | undefined => mirror.resting(id)?.view.runtime.phase
  return { clock, mirror, phase }
}

/** A promise that the test settles. */
const later = <T>() => Promise.withResolvers<T>()

describe('the mirror of an engine', () => {
  it('shows what was listed, then what the events say', async () => {
    const { mirror, phase } = await setUp()
    expect(phase()).toBe('idle')
    mirror.push(changed('a', 'failed', 6))
    expect(phase()).toBe('failed')
    mirror.push(removed('a', 7))
    expect(phase()).toBeUndefined()
  })

  it('does not show a pipeline with a run, whose counters change without an event', async () => {
    const { mirror, phase } = await setUp()
    for (const [at, running] of (['starting', 'playing', 'reconnecting', 'stopping'] as const).entries()) {
      mirror.push(changed('a', running, 6 + at))
      expect(phase()).toBeUndefined()
      expect(mirror.hasRunning).toBe(true)
    }
    mirror.push(changed('a', 'idle', 10))
    expect([phase(), mirror.hasRunning]).toEqual(['idle', false])
  })

  it('is not shown after an answer that takes more into account, until the events have come as far', async () => {
    const { mirror, phase } = await setUp()
    mirror.noteAnswer({ engine: 'one', revision: 7 })
    expect(phase()).toBeUndefined()
    mirror.push(changed('b', 'idle', 6))
    expect(phase()).toBeUndefined()
    mirror.push(changed('a', 'failed', 7))
    expect(phase()).toBe('failed')
  })

  it('is shown when the event has overtaken the answer', async () => {
    const { mirror, phase } = await setUp()
    mirror.push(changed('a', 'failed', 6))
    mirror.noteAnswer({ engine: 'one', revision: 6 })
    expect(phase()).toBe('failed')
  })

  it('ignores answers of an engine that it does not follow: of the one before, that came late', async () => {
    const { mirror, phase } = await setUp()
    mirror.end()
    mirror.begin({ type: 'heartbeat', engine: 'two', revision: 0 })
    await mirror.fill(async () => [view('a', 'failed', 0)])
    mirror.noteAnswer({ engine: 'one', revision: 900 })
    expect(phase()).toBe('failed')
  })

  it('is not shown while the stream is away, and forgets what it knew', async () => {
    const { mirror, phase } = await setUp()
    mirror.end()
    expect([phase(), mirror.all()]).toEqual([undefined, undefined])
    mirror.push(changed('a', 'idle', 6))
    expect(phase()).toBeUndefined()
    mirror.begin({ type: 'heartbeat', engine: 'two', revision: 0 })
    expect(phase()).toBeUndefined()
    await mirror.fill(async () => [])
    expect([phase(), [...(mirror.all()?.ids() ?? ['none'])]]).toEqual([undefined, []])
  })

  it('is not shown of an engine that has fallen silent, until its next line', async () => {
    const { clock, mirror, phase } = await setUp()
    clock.ms += 2000
    expect(phase()).toBeUndefined()
    mirror.push(HEARTBEAT)
    expect(phase()).toBe('idle')
  })

  it('is not shown of an engine that does not number its events', async () => {
    const mirror = new EngineMirror()
    mirror.begin(HEARTBEAT)
    await mirror.fill(async () => [view('a', 'idle', 0)])
    expect(mirror.current).toBe(false)
  })

  it('takes no view that is older than what it knows: list and events overlap', async () => {
    const { mirror, phase } = await setUp([view('a', 'failed', 4), view('b', 'idle', 5)])
    mirror.push(changed('a', 'idle', 3))
    mirror.push(changed('a', 'idle', 4))
    expect(phase()).toBe('failed')
    mirror.push(removed('b', 2))
    expect(phase('b')).toBe('idle')
  })

  it('does not show a list that an event has overtaken', async () => {
    const { mirror, phase } = await setUp()
    const list = later<readonly PipelineView[]>()
    mirror.push(RELIST(6))
    const filled = mirror.fill(() => list.promise)
    mirror.push(changed('a', 'failed', 7))
    mirror.push(removed('b', 8))
    list.resolve([view('a', 'idle', 1), view('b', 'idle', 2)])
    await filled
    expect([phase('a'), phase('b')]).toEqual(['failed', undefined])
  })

  it('asks for a list when all views have changed, again while none has come, and takes none from before', async () => {
    const { mirror, phase } = await setUp()
    expect(mirror.push(HEARTBEAT)).toBe(false)
    expect(mirror.push(RELIST(6))).toBe(true)
    expect(phase()).toBeUndefined()
    const early = later<readonly PipelineView[]>()
    const fillingEarly = mirror.fill(() => early.promise)
    expect(mirror.push(HEARTBEAT)).toBe(false)
    expect(mirror.push(RELIST(7))).toBe(true)
    early.resolve([view('a', 'idle', 1)])
    await fillingEarly
    expect(phase()).toBeUndefined()
    await expect(mirror.fill(() => Promise.reject(new Error('away')))).rejects.toThrow('away')
    expect(mirror.push(HEARTBEAT)).toBe(true)
    await mirror.fill(async () => [view('a', 'failed', 1)])
    expect([phase(), mirror.push(HEARTBEAT)]).toEqual(['failed', false])
  })

  it('lets the last frame grow older', async () => {
    const { clock, mirror } = await setUp([view('a', 'idle', 1, { last_frame_age_ms: 50 }), view('b', 'idle', 2)])
    clock.ms += 700
    const [a, b] = [mirror.resting('a'), mirror.resting('b')].map((resting) => resting && aged(resting).runtime.last_frame_age_ms)
    expect([a, b]).toEqual([750, null])
  })
})

const engineOf = (views: PipelineView[]) => {
  const calls: string[] = []
  return {
    calls,
    view: async (id: string) => {
      calls.push(`view ${id}`)
      const found = views.find((candidate) => candidate.id === id)
      if (found === undefined) throw new ApiError('NOT_FOUND', 'no such pipeline')
      return found
    },
    list: async () => {
      calls.push('list')
      return views
    },
    listRunning: async () => {
      calls.push('listRunning')
      return views.filter(({ runtime }) => runtime.phase === 'playing')
    },
  }
}

describe('reading views', () => {
  const IDLE = view('a', 'idle', 1)
  const PLAYING = view('b', 'playing', 2, { frames: 100 })

  it('asks nobody about pipelines without a run', async () => {
    const { mirror } = await setUp([IDLE])
    const engine = engineOf([])
    const views = readViews(engine, mirror)
    expect((await views.one('a')).view).toBe(IDLE)
    expect([...(await views.all()).ids()]).toEqual(['a'])
    expect(engine.calls).toEqual([])
  })

  it('asks for the counters of those with a run, and only for those', async () => {
    const { mirror } = await setUp([IDLE, view('b', 'playing', 2, { frames: 7 })])
    const engine = engineOf([IDLE, PLAYING])
    const views = readViews(engine, mirror)
    expect((await views.one('b')).view.runtime.frames).toBe(100)
    const all = await views.all()
    expect([all.get('a')?.view.runtime.phase, all.get('b')?.view.runtime.frames]).toEqual(['idle', 100])
    expect(engine.calls).toEqual(['view b', 'listRunning'])
  })

  it('asks about a pipeline that it does not know', async () => {
    const { mirror } = await setUp([])
    await expect(readViews(engineOf([]), mirror).one('a')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('shows a pipeline as the newer of answer and event has it, when both come at once', async () => {
    const { mirror } = await setUp([IDLE, view('b', 'playing', 2)])
    const engine = engineOf([])
    engine.listRunning = async () => {
      mirror.push(changed('b', 'failed', 6))
      mirror.push(changed('c', 'playing', 7))
      return [PLAYING]
    }
    const all = await readViews(engine, mirror).all()
    expect([...all.ids()].map((id) => [id, all.get(id)?.view.runtime.phase])).toEqual([
      ['a', 'idle'],
      ['b', 'failed'],
      ['c', 'playing'],
    ])
  })

  it('lists the engine when the mirror has fallen behind meanwhile', async () => {
    const { mirror } = await setUp([IDLE, PLAYING])
    const engine = engineOf([view('a', 'failed', 9)])
    engine.listRunning = async () => {
      mirror.noteAnswer({ engine: 'one', revision: 9 })
      return []
    }
    expect((await readViews(engine, mirror).all()).get('a')?.view.runtime.phase).toBe('failed')
    expect(engine.calls).toEqual(['list'])
  })

  it('asks for everything without a mirror', async () => {
    const engine = engineOf([IDLE])
    const views = readViews(engine)
    expect([(await views.one('a')).view, [...(await views.all()).ids()]]).toEqual([IDLE, ['a']])
    expect(engine.calls).toEqual(['view a', 'list'])
  })
})
