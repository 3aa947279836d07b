import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Fault, type FaultReason } from '../../../../engine/faults/fault.ts'
import type { Planner } from '../../../../engine/launch/plan.ts'
import type { Play } from '../../../../engine/play/play.ts'
import { TRANSPORT_REFUSED } from '../../../../engine/rtsp/client/client-faults.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'
import { delay, FOREVER, PLAN, type PlayOptions, type ScriptedRun, startPlay } from '../../../helpers/fakes/play.ts'

const AWAY: ScriptedRun = { fault: 'unreachable' }
const REFUSED: ScriptedRun = { fault: 'source_error', cause: TRANSPORT_REFUSED }
const UNAUTHORIZED: ScriptedRun = { fault: 'unauthorized' }
/** Media that ends soon. */
const ENDED: ScriptedRun = { mediaMs: 10, fault: 'ended' }
const QUICK_CRASH: ScriptedRun = { mediaMs: 100, fault: 'crashed' }
const CRASH: ScriptedRun = { mediaMs: 2500, fault: 'crashed' }

const BACKGROUND: PlayOptions = { awaited: false }

const times = (count: number, script: ScriptedRun): readonly ScriptedRun[] => Array.from({ length: count }, () => script)

/** A play that the end of the test stops. */
const start = (scripts: readonly ScriptedRun[], options: PlayOptions = {}) => {
  const started = startPlay(scripts, options)
  onTestFinished(async () => {
    started.play.stop()
    await started.play.ended
  })
  return started
}

/** What a play does within `ms`. */
const played = async (ms: number, scripts: readonly ScriptedRun[], options: PlayOptions = {}) => {
  const { events, runs, ...rest } = start(scripts, options)
  await vi.advanceTimersByTimeAsync(ms)
  return { events, runs, last: events().at(-1), ...rest }
}

/** The error of a start that fails within `ms`. */
const failure = async (play: Play, ms = 100): Promise<unknown> => {
  const failed = play.started().catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(ms)
  return await failed
}

const planning = (plan: Planner['plan']) => ({ plan, onReturn: () => () => {} })

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the delays between attempts', () => {
  it.each<[string, readonly number[], readonly ScriptedRun[], PlayOptions?]>([
    ['begin with the first while a caller waits', [500, 1000, 2000], [AWAY, AWAY, { fault: 'source_error' }]],
    ['grow to max_delay_seconds', [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000], [ENDED, ...times(7, AWAY)]],
    ['begin with the first again only after 30 s of good media', [500, 1000, 500], [ENDED, ENDED, { mediaMs: 31_000, fault: 'ended' }]],
    ['are short before the other transport, and then begin with the first', [150, 500, 1000], [REFUSED, ENDED, AWAY]],
    ['double after both transports were refused', [150, 500, 150, 1000, 150, 2000], times(6, REFUSED)],
    ['do so also after media', [500, 150, 1000, 150, 2000, 150], [ENDED, REFUSED, REFUSED, REFUSED, AWAY, REFUSED]],
    ['are none after a crash of sound media', [], times(12, CRASH)],
    [
      'double after crashes before media or soon after',
      [500, 1000, 2000],
      [...times(7, QUICK_CRASH), { fault: 'crashed' }, CRASH, QUICK_CRASH],
    ],
    ['are long after a refused password, while a service starts', [10_000, 10_000, 10_000], times(3, UNAUTHORIZED), BACKGROUND],
    [
      'are long each time a camera that has just started refuses the password',
      [500, 10_000, 10_000, 10_000, 8000, 16_000, 30_000, 30_000],
      [ENDED, ...times(3, UNAUTHORIZED), ENDED, ...times(3, UNAUTHORIZED)],
    ],
  ])('%s', async (_what, delays, scripts, options) => {
    const { pauses, last } = await played(200_000, scripts, options)
    expect([pauses(), last]).toEqual([delays, 'media'])
  })
})

describe('starting while a caller waits', () => {
  it('× media: the start resolves', async () => {
    const { play, events } = start([])
    await play.started()
    expect([events(), play.hadMedia]).toEqual([['media'], true])
  })

  it.each<[string, FaultReason, readonly ScriptedRun[]]>([
    ['unreachable', 'unreachable', times(20, AWAY)],
    ['timeout after unreachable', 'unreachable', [AWAY, { fault: 'timeout' }]],
  ])('× %s until the start timeout: fails with the fault of the source', async (_what, reason, scripts) => {
    const { play, events } = start(scripts)
    expect(await failure(play, 10_000)).toMatchObject({ code: 'PIPELINE_START_TIMEOUT', details: { cause: `because ${reason}`, reason } })
    expect(events().at(-1)).toBe('failed:timeout')
  })

  it.each([
    ['5 attempts', 5, 500],
    ['1 attempt, with a delay longer than the start timeout', 1, 60_000],
  ])('× unreachable for %s: a last attempt comes shortly before the deadline', async (_name, failing, initial_delay_ms) => {
    const reconnect = { ...DEFAULT_SETTINGS.reconnect, initial_delay_ms }
    const { play, runs } = start(times(failing, AWAY), { settings: { reconnect } })
    const started = play.started()
    await vi.advanceTimersByTimeAsync(10_000)
    await started
    expect(runs).toHaveLength(failing + 1)
  })

  it.each([
    ['of the first play', true],
    ['that joins one in the background', false],
  ])('× nothing at the address twice: a caller %s waits no longer', async (_who, awaited) => {
    const { play, runs } = start(times(9, { ...AWAY, isAway: true }), { awaited })
    expect(await failure(play, 3000)).toMatchObject({ code: 'PIPELINE_START_TIMEOUT', details: { reason: 'unreachable' } })
    expect(runs).toHaveLength(awaited ? 2 : 3)
  })

  it.each<[FaultReason, string]>([
    ['unauthorized', 'ENGINE_ERROR'],
    ['not_found', 'ENGINE_ERROR'],
    ['port_in_use', 'SERVICE_UNAVAILABLE'],
  ])('× %s: fails at once with %s', async (fault, code) => {
    const { play, events, runs } = start([{ fault }])
    expect(await failure(play)).toMatchObject({ code, details: { reason: fault } })
    expect([events(), runs.length]).toEqual([[`fault:${fault}`, 'failed:fault'], 1])
  })

  it('× a fault that ends the play: the output is released before the start rejects', async () => {
    const released = Promise.withResolvers<void>()
    const { play, events } = start([UNAUTHORIZED], { releaseOutput: () => released.promise })
    const failed = failure(play)
    await vi.advanceTimersByTimeAsync(100)
    expect(events()).toEqual(['fault:unauthorized'])
    expect(await Promise.race([failed, 'pending'])).toBe('pending')
    released.resolve()
    expect(await failed).toBeInstanceOf(ApiError)
    expect(events()).toEqual(['fault:unauthorized', 'failed:fault'])
  })

  it('× output port in use: fails at once without a child', async () => {
    const open = () => Promise.reject(new ApiError('SERVICE_UNAVAILABLE', 'The port 8554 is in use.', { reason: 'port_in_use' }))
    const { play, runs } = start([], { output: { open } })
    expect(await failure(play)).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'port_in_use' } })
    expect(runs).toEqual([])
  })

  it.each<[string, number, PlayOptions]>([
    ['the child starts', 1, {}],
    ['the source is probed', 0, { planner: planning((_config, _settings, { signal }) => delay(FOREVER, signal).then(() => PLAN)) }],
  ])('× stop while %s: the start rejects with CONFLICT, and no other child starts', async (_when, children, options) => {
    const { play, runs, events } = start([{ fault: 'timeout', afterMs: FOREVER }], options)
    setTimeout(() => play.stop(), 50)
    expect(await failure(play)).toMatchObject({ code: 'CONFLICT', details: { reason: 'stopped' } })
    expect([runs.length, events()]).toEqual([children, []])
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
    const { runs } = await played(3000, [], { planner, settings: { start_timeout_seconds: 8 } })
    expect([probed, runs.map(({ startTimeoutMs }) => startTimeoutMs)]).toEqual([[8000], [5000]])
  })

  it('plans with the fault before it, also one of an earlier play', async () => {
    const faults: (string | undefined)[] = []
    const planner = planning(async (_config, _settings, { previousFault }) => {
      faults.push(previousFault?.message)
      return PLAN
    })
    await played(1000, [AWAY], { planner, previousFault: new Fault('stalled', 'of an earlier play') })
    expect(faults).toEqual(['of an earlier play', 'because unreachable'])
  })

  it('reports the KLV that the plan and the child announce', async () => {
    const { runs, events } = await played(0, [], { planner: planning(async () => ({ ...PLAN, klv: false })) })
    runs[0]?.report({ type: 'klv', available: true })
    expect(events()).toEqual(['klv:false', 'media', 'klv:true'])
  })

  it('has the process id of its child and a number in the log', async () => {
    const { play, logRing } = start([AWAY])
    const pids = [play.pid]
    for (const ms of [5, 100, 1000]) {
      await vi.advanceTimersByTimeAsync(ms)
      pids.push(play.pid)
    }
    expect(pids).toEqual([undefined, 101, undefined, 102])
    expect(logRing.lines()).toMatchObject([
      { run: 1, line: 'started process 101' },
      { run: 2, line: 'started process 102' },
    ])
  })
})

describe('reconnecting', () => {
  const give_up_after_seconds = 60
  const reconnect = { ...DEFAULT_SETTINGS.reconnect, give_up_after_seconds }
  const triggers = { ...DEFAULT_SETTINGS.triggers, give_up_after_seconds }

  it('× not_found: attempts go on, since a media server answers 404 until its publisher is back', async () => {
    const { last } = await played(5000, [ENDED, { fault: 'not_found' }])
    expect(last).toBe('media')
  })

  it('× unauthorized four times: fails, since repeating a wrong password locks cameras', async () => {
    const { last, runs } = await played(40_000, [ENDED, ...times(9, UNAUTHORIZED)])
    expect([last, runs.length]).toEqual(['failed:fault', 5])
  })

  it.each<[string, PlayOptions]>([
    ['a pipeline', { settings: { reconnect } }],
    ['an ephemeral pipeline', { settings: { triggers }, ephemeral: true }],
  ])('× unreachable for as long as the settings allow %s: gives up', async (_name, options) => {
    const { events, last } = await played(59_900, [ENDED, ...times(50, AWAY)], options)
    await vi.advanceTimersByTimeAsync(300)
    expect([last, events().at(-1)]).toEqual(['lost', 'failed:give_up'])
  })

  it('× stalled for longer than the settings allow: is tried again before it gives up', async () => {
    const stalled: ScriptedRun = { mediaMs: 10, fault: 'stalled', afterMs: 120_000 }
    const { events, runs } = await played(250_000, [stalled, stalled, AWAY], { settings: { reconnect } })
    expect([events().slice(-3), runs.length]).toEqual([['lost', 'fault:unreachable', 'failed:give_up'], 3])
  })

  it('× stop within a pause: ends without another attempt', async () => {
    const { play, runs } = await played(100, [AWAY], BACKGROUND)
    play.stop()
    await play.ended
    expect(runs).toHaveLength(1)
  })
})

describe('starting in the background', () => {
  it('× unreachable: the source is lost from the first fault on, and only the wait for the start ends', async () => {
    const { play, events } = start(times(8, AWAY), BACKGROUND)
    expect(await failure(play, 10_000)).toMatchObject({ code: 'PIPELINE_START_TIMEOUT', details: { reason: 'unreachable' } })
    expect(events()[1]).toBe('lost')
    await vi.advanceTimersByTimeAsync(200_000)
    expect(events().at(-1)).toBe('media')
  })

  it('× unauthorized at the start for a reader: fails at once', async () => {
    const { events } = await played(100, times(3, UNAUTHORIZED), { awaited: false, byReader: true })
    expect(events()).toEqual(['fault:unauthorized', 'failed:fault'])
  })

  it('× an output address that this host does not have yet: attempts go on until it is there', async () => {
    const missing = new ApiError('SERVICE_UNAVAILABLE', 'The output cannot listen on 10.0.0.9.', { reason: 'listen_failed' })
    const open = vi.fn<() => Promise<void>>().mockRejectedValueOnce(missing).mockRejectedValueOnce(missing).mockResolvedValue()
    const { events } = await played(5000, [], { awaited: false, output: { open } })
    expect(events()).toEqual(['fault:output_unavailable', 'lost', 'fault:output_unavailable', 'lost', 'media'])
  })

  it.each([
    ['the next attempt comes at once', 70_000, []],
    ['the delays begin with the first again', 20_000, [500, 1000]],
  ])('× a caller in a long pause: %s, and the start resolves when the source is there', async (_what, ms, delays) => {
    const { play, pauses } = await played(ms, times(8, AWAY), BACKGROUND)
    const before = pauses().length
    const started = play.started()
    await vi.advanceTimersByTimeAsync(4000)
    await started
    expect(pauses().slice(before)).toEqual(delays)
  })

  it.each<[FaultReason, string]>([
    ['not_found', 'ENGINE_ERROR'],
    ['port_in_use', 'SERVICE_UNAVAILABLE'],
  ])('× %s while a caller waits: the caller gets %s at once, and attempts go on', async (fault, code) => {
    const { play, events } = await played(100, times(3, { fault }), BACKGROUND)
    expect(await failure(play)).toMatchObject({ code, details: { reason: fault } })
    await vi.advanceTimersByTimeAsync(5000)
    expect(events().at(-1)).toBe('media')
  })
})
