import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Fault, type FaultReason } from '../../../../engine/faults/fault.ts'
import { TRANSPORT_REFUSED } from '../../../../engine/gst/bus-errors.ts'
import type { Planner } from '../../../../engine/launch/plan.ts'
import { NOT_UNDERSTOOD } from '../../../../engine/rtsp/client/client-faults.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'
import { delay, FOREVER, PLAN, type PlayOptions, type ScriptedRun, startPlay } from '../../../helpers/fakes/play.ts'

/** A play that the end of the test stops. */
const start = (scripts: readonly ScriptedRun[], options: PlayOptions = {}) => {
  const started = startPlay(scripts, options)
  onTestFinished(async () => {
    started.play.stop()
    await started.play.ended
  })
  return started
}

const REFUSED: ScriptedRun = { fault: 'source_error', cause: TRANSPORT_REFUSED }

const times = (count: number, script: ScriptedRun): readonly ScriptedRun[] => Array.from({ length: count }, () => script)

const planning = (plan: Planner['plan']): Planner => ({
  plan,
  permit: () => {},
  onReturn: () => () => {},
  check: () => Promise.reject(new Error('not used')),
})

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('starting while a caller waits', () => {
  it('× media: the start resolves', async () => {
    const { play, events } = start([])
    await play.started()
    expect(events()).toEqual(['media'])
    expect(play.hadMedia).toBe(true)
  })

  it('× unreachable: attempts go on, and the start resolves when the source comes within the start timeout', async () => {
    const { play, pauses } = start([{ fault: 'unreachable' }, { fault: 'unreachable' }, { fault: 'source_error' }])
    const started = play.started()
    await vi.advanceTimersByTimeAsync(5000)
    await started
    expect(pauses()).toEqual([500, 1000, 2000])
  })

  it.each([
    ['a refused transport', REFUSED],
    ['not understood by the engine', { fault: 'source_error', cause: NOT_UNDERSTOOD } as const],
  ])('× %s: the next attempt soon reads it in the other way, and the delays begin with the first later on', async (_what, refused) => {
    const { pauses, runs } = start([refused, { mediaMs: 100, fault: 'ended' }, { fault: 'unreachable' }])
    await vi.advanceTimersByTimeAsync(5000)
    expect([pauses(), runs.length]).toEqual([[150, 500, 1000], 4])
  })

  it('× both transports refused: each pair of attempts is delayed', async () => {
    const { pauses, runs } = start(times(20, REFUSED))
    await vi.advanceTimersByTimeAsync(4000)
    expect([pauses(), runs.length]).toEqual([[150, 500, 150, 1000, 150, 2000], 6])
  })

  it('× unreachable until the start timeout: fails with PIPELINE_START_TIMEOUT and the last cause', async () => {
    const { play, events } = start(times(20, { fault: 'unreachable' }))
    const outcome = expect(play.started()).rejects.toMatchObject({
      code: 'PIPELINE_START_TIMEOUT',
      details: { cause: 'because unreachable', reason: 'unreachable' },
    })
    await vi.advanceTimersByTimeAsync(10_000)
    await outcome
    await play.ended
    expect(events().at(-1)).toBe('failed:timeout')
  })

  it.each([
    ['5 attempts', 5, 500],
    ['1 attempt, with a delay longer than the start timeout', 1, 60_000],
  ])('× unreachable for %s: a last attempt comes shortly before the deadline', async (_name, failing, initial_delay_ms) => {
    const reconnect = { ...DEFAULT_SETTINGS.reconnect, initial_delay_ms }
    const { play, runs } = start(times(failing, { fault: 'unreachable' }), { settings: { reconnect } })
    const started = play.started()
    await vi.advanceTimersByTimeAsync(10_000)
    await started
    expect(runs).toHaveLength(failing + 1)
  })

  it('× timeout after unreachable: the cause is the fault of the source, not the timeout', async () => {
    const { play } = start([{ fault: 'unreachable' }, { fault: 'timeout' }])
    const outcome = expect(play.started()).rejects.toMatchObject({ code: 'PIPELINE_START_TIMEOUT', details: { reason: 'unreachable' } })
    await vi.advanceTimersByTimeAsync(10_000)
    await outcome
  })

  it.each<[FaultReason, string]>([
    ['unauthorized', 'ENGINE_ERROR'],
    ['not_found', 'ENGINE_ERROR'],
    ['missing_element', 'ENGINE_ERROR'],
    ['crashed', 'ENGINE_ERROR'],
    ['ended', 'ENGINE_ERROR'],
    ['device_busy', 'ENGINE_ERROR'],
    ['port_in_use', 'SERVICE_UNAVAILABLE'],
    ['engine_missing', 'SERVICE_UNAVAILABLE'],
  ])('× %s: fails at once with %s', async (fault, code) => {
    const { play, events, runs } = start([{ fault }])
    const outcome = expect(play.started()).rejects.toMatchObject({ code, details: { reason: fault } })
    await vi.advanceTimersByTimeAsync(100)
    await outcome
    expect(events()).toEqual([`fault:${fault}`, 'failed:fault'])
    expect(runs).toHaveLength(1)
  })

  it('× a fault that ends the play: the output is released before the start rejects', async () => {
    const released = Promise.withResolvers<void>()
    const { play, events } = start([{ fault: 'unauthorized' }], { releaseOutput: () => released.promise })
    let rejected = false
    const outcome = play.started().catch(() => {
      rejected = true
    })
    await vi.advanceTimersByTimeAsync(100)
    expect([events(), rejected]).toEqual([['fault:unauthorized'], false])
    released.resolve()
    await outcome
    expect(events()).toEqual(['fault:unauthorized', 'failed:fault'])
  })

  it('× output port in use: fails at once without a child', async () => {
    const open = () => Promise.reject(new ApiError('SERVICE_UNAVAILABLE', 'The port 8554 is in use.', { reason: 'port_in_use' }))
    const { play, runs } = start([], { output: { open } })
    await expect(play.started()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'port_in_use' } })
    expect(runs).toEqual([])
  })

  it('× stop: the start rejects with CONFLICT', async () => {
    const { play } = start([{ fault: 'timeout', afterMs: FOREVER }])
    const outcome = expect(play.started()).rejects.toMatchObject({ code: 'CONFLICT' })
    await vi.advanceTimersByTimeAsync(100)
    play.stop()
    await play.ended
    await outcome
  })

  it('× stop while the source is probed: no child starts', async () => {
    const planner = planning(async (_config, _settings, { signal }) => {
      await delay(FOREVER, signal)
      return PLAN
    })
    const { play, runs, events } = start([], { planner })
    const outcome = expect(play.started()).rejects.toMatchObject({ code: 'CONFLICT', details: { reason: 'stopped' } })
    await vi.advanceTimersByTimeAsync(100)
    play.stop()
    await play.ended
    await outcome
    expect([runs, events()]).toEqual([[], []])
  })
})

describe('an attempt', () => {
  it('gives the child what is left of the start timeout after the probe', async () => {
    const probed: number[] = []
    const planner = planning(async (_config, _settings, { timeoutMs, signal }) => {
      probed.push(timeoutMs)
      await delay(3000, signal)
      return PLAN
    })
    const { runs } = start([], { planner, settings: { start_timeout_seconds: 8 } })
    await vi.advanceTimersByTimeAsync(3000)
    expect([probed, runs.map(({ startTimeoutMs }) => startTimeoutMs)]).toEqual([[8000], [5000]])
  })

  it('plans with the fault before it, also one of an earlier play', async () => {
    const faults: (string | undefined)[] = []
    const planner = planning(async (_config, _settings, { previousFault }) => {
      faults.push(previousFault?.message)
      return PLAN
    })
    start([{ fault: 'unreachable' }], { planner, previousFault: new Fault('stalled', 'of an earlier play') })
    await vi.advanceTimersByTimeAsync(1000)
    expect(faults).toEqual(['of an earlier play', 'because unreachable'])
  })

  it('reports the KLV that the plan and the child announce', async () => {
    const planner = planning(async () => ({ ...PLAN, klv: false }))
    const { runs, events } = start([], { planner })
    await vi.advanceTimersByTimeAsync(0)
    runs[0]?.report({ type: 'klv', available: true })
    expect(events()).toEqual(['klv:false', 'media', 'klv:true'])
  })

  it('has the process id of its child and a number in the log', async () => {
    const { play, logRing } = start([{ fault: 'unreachable' }])
    expect(play.pid).toBeUndefined()
    await vi.advanceTimersByTimeAsync(5)
    expect(play.pid).toBe(101)
    await vi.advanceTimersByTimeAsync(100)
    expect(play.pid).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1000)
    expect(play.pid).toBe(102)
    expect(logRing.lines().map(({ run, line }) => [run, line])).toEqual([
      [1, 'started process 101'],
      [2, 'started process 102'],
    ])
  })
})

describe('playing', () => {
  it('× crashed after sound media: the next child starts at once, however often', async () => {
    const { pauses, runs } = start(times(12, { mediaMs: 2500, fault: 'crashed' }))
    await vi.advanceTimersByTimeAsync(60_000)
    expect([pauses(), runs.length]).toEqual([[], 13])
  })

  it('× crashed again and again right after the first media or before it: the delays double', async () => {
    const { pauses } = start([
      ...times(7, { mediaMs: 100, fault: 'crashed' }),
      { fault: 'crashed' },
      { mediaMs: 2500, fault: 'crashed' },
      { mediaMs: 100, fault: 'crashed' },
    ])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(pauses()).toEqual([500, 1000, 2000])
  })

  it('× ended: the delays begin with the first again only after 30 s of good media', async () => {
    const { pauses } = start([
      { mediaMs: 100, fault: 'ended' },
      { mediaMs: 100, fault: 'ended' },
      { mediaMs: 31_000, fault: 'ended' },
    ])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(pauses()).toEqual([500, 1000, 500])
  })
})

describe('reconnecting', () => {
  it('× unreachable: the delays grow to max_delay_seconds', async () => {
    const { pauses } = start([{ mediaMs: 10, fault: 'ended' }, ...times(9, { fault: 'unreachable' })])
    await vi.advanceTimersByTimeAsync(200_000)
    expect(pauses()).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000])
  })

  it('× a refused transport: the next attempt soon asks for the other, and is delayed if that was refused as well', async () => {
    const { pauses } = start([{ mediaMs: 10, fault: 'ended' }, REFUSED, REFUSED, REFUSED, { fault: 'unreachable' }, REFUSED])
    await vi.advanceTimersByTimeAsync(20_000)
    expect(pauses()).toEqual([500, 150, 1000, 150, 2000, 150])
  })

  it('× not_found: attempts go on, since a media server answers 404 until its publisher is back', async () => {
    const { events } = start([{ mediaMs: 10, fault: 'ended' }, { fault: 'not_found' }])
    await vi.advanceTimersByTimeAsync(5000)
    expect(events().at(-1)).toBe('media')
  })

  it('× unauthorized, as a camera that has just started: it is asked again some time later, and each time it is lost', async () => {
    const once = [{ mediaMs: 10, fault: 'ended' }, ...times(3, { fault: 'unauthorized' })] as const
    const { events, pauses } = start([...once, ...once])
    await vi.advanceTimersByTimeAsync(120_000)
    expect(pauses()).toEqual([500, 10_000, 10_000, 10_000, 8000, 16_000, 30_000, 30_000])
    expect(events().at(-1)).toBe('media')
  })

  it('× unauthorized four times: fails, since repeating a wrong password locks cameras', async () => {
    const { play, events, runs } = start([{ mediaMs: 10, fault: 'ended' }, ...times(9, { fault: 'unauthorized' })])
    await vi.advanceTimersByTimeAsync(40_000)
    await play.ended
    expect([events().at(-1), runs.length]).toEqual(['failed:fault', 5])
  })

  it.each([
    ['a pipeline', false],
    ['an ephemeral pipeline', true],
  ])('× unreachable for as long as the settings allow %s: gives up', async (_name, ephemeral) => {
    const { reconnect, triggers } = DEFAULT_SETTINGS
    const settings = ephemeral
      ? { triggers: { ...triggers, give_up_after_seconds: 60 } }
      : { reconnect: { ...reconnect, give_up_after_seconds: 60 } }
    const { play, events } = start([{ mediaMs: 10, fault: 'ended' }, ...times(50, { fault: 'unreachable' })], { settings, ephemeral })
    await vi.advanceTimersByTimeAsync(59_900)
    expect(events().at(-1)).toBe('lost')
    await vi.advanceTimersByTimeAsync(300)
    await play.ended
    expect(events().at(-1)).toBe('failed:give_up')
  })

  it('× stalled for longer than the settings allow: is tried again before it gives up', async () => {
    const reconnect = { ...DEFAULT_SETTINGS.reconnect, give_up_after_seconds: 60 }
    const stalled: ScriptedRun = { mediaMs: 10, fault: 'stalled', afterMs: 120_000 }
    const { events, runs } = start([stalled, stalled, { fault: 'unreachable' }], { settings: { reconnect } })
    await vi.advanceTimersByTimeAsync(250_000)
    expect([events().slice(-3), runs.length]).toEqual([['lost', 'fault:unreachable', 'failed:give_up'], 3])
  })

  it('× stop within a pause: ends without another attempt', async () => {
    const { play, runs } = start([{ fault: 'unreachable' }], { awaited: false })
    await vi.advanceTimersByTimeAsync(100)
    play.stop()
    await play.ended
    expect(runs).toHaveLength(1)
  })
})

describe('starting in the background', () => {
  it('× unreachable: the source is lost from the first fault on, and only the wait for the start ends', async () => {
    const { play, events } = start(times(8, { fault: 'unreachable' }), { awaited: false })
    const outcome = expect(play.started()).rejects.toMatchObject({ code: 'PIPELINE_START_TIMEOUT', details: { reason: 'unreachable' } })
    await vi.advanceTimersByTimeAsync(10_000)
    await outcome
    expect(events()[1]).toBe('lost')
    await vi.advanceTimersByTimeAsync(200_000)
    expect(events().at(-1)).toBe('media')
  })

  it('× unauthorized while a service starts together with its cameras: asks again some time later', async () => {
    const { events, pauses } = start(times(3, { fault: 'unauthorized' }), { awaited: false })
    await vi.advanceTimersByTimeAsync(31_000)
    expect([pauses(), events().at(-1)]).toEqual([[10_000, 10_000, 10_000], 'media'])
  })

  it('× unauthorized at the start for a reader: fails at once', async () => {
    const { play, events } = start(times(3, { fault: 'unauthorized' }), { awaited: false, byReader: true })
    await vi.advanceTimersByTimeAsync(100)
    await play.ended
    expect(events()).toEqual(['fault:unauthorized', 'failed:fault'])
  })

  it('× an output address that this host does not have yet: attempts go on until it is there', async () => {
    let opened = 0
    const open = async () => {
      opened += 1
      if (opened < 3) throw new ApiError('SERVICE_UNAVAILABLE', 'The output cannot listen on 10.0.0.9.', { reason: 'listen_failed' })
    }
    const { events } = start([], { awaited: false, output: { open } })
    await vi.advanceTimersByTimeAsync(5000)
    expect(events()).toEqual(['fault:output_unavailable', 'lost', 'fault:output_unavailable', 'lost', 'media'])
  })

  it('× a caller in a long pause: the next attempt comes at once, and the start resolves when the source is there', async () => {
    const { play, runs, pauses } = start(times(8, { fault: 'unreachable' }), { awaited: false })
    await vi.advanceTimersByTimeAsync(70_000)
    expect([runs.length, pauses().slice(-1)]).toEqual([8, [30_000]])
    const started = play.started()
    await vi.advanceTimersByTimeAsync(10)
    await started
    expect([runs.length, play.hadMedia]).toEqual([9, true])
  })

  it('× a caller while the source stays away: the delays begin with the first again, for as long as it waits', async () => {
    const { play, pauses } = start(times(8, { fault: 'unreachable' }), { awaited: false })
    await vi.advanceTimersByTimeAsync(20_000)
    const before = pauses().length
    const started = play.started()
    await vi.advanceTimersByTimeAsync(4000)
    await started
    expect(pauses().slice(before)).toEqual([500, 1000])
  })

  it.each<[FaultReason, string]>([
    ['not_found', 'ENGINE_ERROR'],
    ['port_in_use', 'SERVICE_UNAVAILABLE'],
  ])('× %s while a caller waits: the caller gets %s at once, and attempts go on', async (fault, code) => {
    const { play, events } = start(times(3, { fault }), { awaited: false })
    await vi.advanceTimersByTimeAsync(100)
    const outcome = expect(play.started()).rejects.toMatchObject({ code, details: { reason: fault } })
    await vi.advanceTimersByTimeAsync(100)
    await outcome
    await vi.advanceTimersByTimeAsync(5000)
    expect(events().at(-1)).toBe('media')
  })
})
