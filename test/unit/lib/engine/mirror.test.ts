import { describe, expect, it } from 'vitest'
import type { NumberedEvent } from '../../../../lib/engine/messages.ts'
import { aged, EngineMirror, readViews } from '../../../../lib/engine/mirror.ts'
import type { Phase, PipelineView, Runtime } from '../../../../lib/schema/pipeline.ts'
import { pipelineView } from '../../../helpers/fakes/pipeline-view.ts'

const view = (id: string, phase: Phase, revision: number, runtime: Partial<Runtime> = {}): PipelineView => ({
  ...pipelineView(id, { phase, ...runtime }),
  revision,
})

const changed = (id: string, phase: Phase, revision: number): NumberedEvent => ({ type: 'pipeline', view: view(id, phase, revision) })
const removed = (id: string, revision: number): NumberedEvent => ({ type: 'pipeline_removed', id, revision })
const relist = (revision: number): NumberedEvent => ({ type: 'relist', revision })
const HEARTBEAT: NumberedEvent = { type: 'heartbeat' }

/** A mirror that follows the engine `one` from revision 5 on, and has its list. */
const setUp = async (views: readonly PipelineView[] = [view('a', 'idle', 1)], { exclusive = true } = {}) => {
  const clock = { ms: 1000 }
  const mirror = new EngineMirror({ exclusive, monotonicMs: () => clock.ms })
  mirror.begin({ engine: 'one', revision: 5 })
  await mirror.fill(async () => views)
  const push = (...events: readonly NumberedEvent[]) => events.map((event) => mirror.push(event))
  const phase = (id = 'a'): Phase | undefined => mirror.resting(id)?.view.runtime.phase
  return { clock, mirror, push, phase }
}

describe('the mirror of an engine', () => {
  it('has what was listed, then what the events say', async () => {
    const { push, phase, mirror } = await setUp()
    expect(phase()).toBe('idle')
    push(changed('a', 'failed', 6))
    expect([phase(), mirror.view('a')?.revision]).toEqual(['failed', 6])
    push(removed('a', 7))
    expect([phase(), mirror.view('a')]).toEqual([undefined, undefined])
  })

  it.each(['starting', 'playing', 'reconnecting', 'stopping'] as const)('answers no read while %s: counters change', async (running) => {
    const { mirror, push, phase } = await setUp()
    push(changed('a', running, 6))
    expect([phase(), mirror.hasRunning, mirror.view('a')?.runtime.phase]).toEqual([undefined, true, running])
    push(changed('a', 'idle', 7))
    expect([phase(), mirror.hasRunning]).toEqual(['idle', false])
  })

  it('answers no read after an answer that takes more into account, until the events have come as far', async () => {
    const { mirror, push, phase } = await setUp()
    mirror.noteAnswer({ engine: 'one', revision: 7 })
    expect(phase()).toBeUndefined()
    push(changed('b', 'idle', 6))
    expect(phase()).toBeUndefined()
    push(changed('a', 'failed', 7))
    mirror.noteAnswer({ engine: 'one', revision: 6 })
    expect(phase()).toBe('failed')
  })

  it('forgets what it had when the stream ends, and ignores late answers of the engine before', async () => {
    const { mirror, push, phase } = await setUp()
    mirror.end()
    push(changed('a', 'idle', 6))
    expect([phase(), mirror.all(), mirror.view('a')]).toEqual([undefined, undefined, undefined])
    mirror.begin({ engine: 'two', revision: 0 })
    expect(phase()).toBeUndefined()
    await mirror.fill(async () => [view('a', 'failed', 0)])
    mirror.noteAnswer({ engine: 'one', revision: 900 })
    expect([phase(), [...(mirror.all()?.ids() ?? [])]]).toEqual(['failed', ['a']])
  })

  it('answers no read of an engine that has fallen silent, until its next event', async () => {
    const { clock, push, phase } = await setUp()
    clock.ms += 2000
    expect(phase()).toBeUndefined()
    push(HEARTBEAT)
    expect(phase()).toBe('idle')
  })

  it('answers no read of an engine that others use too, and has its views', async () => {
    const { mirror, push, phase } = await setUp([], { exclusive: false })
    push(changed('a', 'idle', 6))
    expect([phase(), mirror.current, mirror.view('a')?.revision]).toEqual([undefined, false, 6])
  })

  it('takes no view of an earlier revision: list and events overlap', async () => {
    const { push, phase } = await setUp([view('a', 'failed', 4), view('b', 'idle', 5)])
    push(changed('a', 'idle', 3), changed('a', 'idle', 4), removed('b', 2))
    expect([phase('a'), phase('b')]).toEqual(['failed', 'idle'])
  })

  it('takes from a list only what no event has overtaken', async () => {
    const { mirror, push, phase } = await setUp()
    const list = Promise.withResolvers<readonly PipelineView[]>()
    push(relist(6))
    const filled = mirror.fill(() => list.promise)
    push(changed('a', 'failed', 7), removed('b', 8))
    list.resolve([view('a', 'idle', 1), view('b', 'idle', 2)])
    await filled
    expect([phase('a'), phase('b')]).toEqual(['failed', undefined])
  })

  it('needs a list when views have changed without events, again while none has come, and takes none from before', async () => {
    const { mirror, push, phase } = await setUp()
    expect(push(HEARTBEAT, relist(6))).toEqual([false, true])
    expect(phase()).toBeUndefined()
    const early = Promise.withResolvers<readonly PipelineView[]>()
    const fillingEarly = mirror.fill(() => early.promise)
    expect(push(HEARTBEAT, changed('b', 'idle', 7), relist(8))).toEqual([false, false, true])
    early.resolve([view('a', 'idle', 1)])
    await fillingEarly
    expect(phase()).toBeUndefined()
    await expect(mirror.fill(() => Promise.reject(new Error('away')))).rejects.toThrow('away')
    expect(push(HEARTBEAT)).toEqual([true])
    await mirror.fill(async () => [view('a', 'failed', 1)])
    expect([phase(), push(HEARTBEAT)]).toEqual(['failed', [false]])
  })

  it('lets the last frame grow older', async () => {
    const { clock, mirror } = await setUp([view('a', 'idle', 1, { last_frame_age_ms: 50 }), view('b', 'idle', 2)])
    clock.ms += 700
    const ages = ['a', 'b'].map((id) => mirror.resting(id)).map((resting) => resting && aged(resting).runtime.last_frame_age_ms)
    expect(ages).toEqual([750, null])
  })
})

/** An engine with these views, which records its calls. */
const engineOf = (...views: readonly PipelineView[]) => {
  const calls: string[] = []
  const answer = async <T>(call: string, of: T | undefined): Promise<T> => {
    calls.push(call)
    return of ?? Promise.reject(new Error('NOT_FOUND'))
  }
  return {
    calls,
    view: (id: string) =>
      answer(
        `view ${id}`,
        views.find((candidate) => candidate.id === id),
      ),
    list: () => answer('list', views),
    listRunning: () =>
      answer(
        'listRunning',
        views.filter(({ runtime }) => runtime.phase === 'playing'),
      ),
  }
}

describe('reading views', () => {
  const IDLE = view('a', 'idle', 1)
  const PLAYING = view('b', 'playing', 2, { frames: 100 })

  it('asks the engine only for the counters of pipelines with a run', async () => {
    const { mirror } = await setUp([IDLE, view('b', 'playing', 2, { frames: 7 })])
    const engine = engineOf(IDLE, PLAYING)
    const views = readViews(engine, mirror)
    expect((await views.one('a')).view).toBe(IDLE)
    expect(engine.calls).toEqual([])
    expect((await views.one('b')).view.runtime.frames).toBe(100)
    const all = await views.all()
    expect([all.get('a')?.view.runtime.phase, all.get('b')?.view.runtime.frames]).toEqual(['idle', 100])
    expect(engine.calls).toEqual(['view b', 'listRunning'])
  })

  it('asks nothing for a list of pipelines without a run, and about each that is not known', async () => {
    const { mirror } = await setUp([IDLE])
    const engine = engineOf()
    expect([...(await readViews(engine, mirror).all()).ids()]).toEqual(['a'])
    expect(engine.calls).toEqual([])
    await expect(readViews(engine, mirror).one('b')).rejects.toThrow('NOT_FOUND')
  })

  it('takes the later of answer and event when both come at once', async () => {
    const { mirror, push } = await setUp([IDLE, view('b', 'playing', 2)])
    const engine = engineOf()
    engine.listRunning = async () => {
      push(changed('b', 'failed', 6), changed('c', 'playing', 7))
      return [PLAYING]
    }
    const all = await readViews(engine, mirror).all()
    expect([...all.ids()].map((id) => `${id} ${all.get(id)?.view.runtime.phase}`)).toEqual(['a idle', 'b failed', 'c playing'])
  })

  it('lists the engine when the mirror has fallen behind meanwhile', async () => {
    const { mirror } = await setUp([IDLE, PLAYING])
    const engine = engineOf(view('a', 'failed', 9))
    engine.listRunning = async () => {
      mirror.noteAnswer({ engine: 'one', revision: 9 })
      return []
    }
    expect((await readViews(engine, mirror).all()).get('a')?.view.runtime.phase).toBe('failed')
    expect(engine.calls).toEqual(['list'])
  })

  it('asks for everything while nothing is mirrored', async () => {
    const engine = engineOf(IDLE)
    const views = readViews(engine, new EngineMirror())
    expect([(await views.one('a')).view, [...(await views.all()).ids()]]).toEqual([IDLE, ['a']])
    expect(engine.calls).toEqual(['view a', 'list'])
  })
})
