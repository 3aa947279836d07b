import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Fault, type FaultCause } from '../../../../engine/fault.ts'
import { Session } from '../../../../engine/pipelines/play.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../../../lib/schema/settings.ts'

/** What one attempt of the fake child does: no media and a fault, or media for a while and then a fault. */
interface Attempt {
  readonly mediaMs?: number
  readonly fault: FaultCause
  readonly afterMs?: number
}

const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

const FOREVER = 1_000_000_000

const run = (
  attempts: readonly Attempt[],
  options: { patient?: boolean; settings?: Partial<Settings>; patienceMs?: number | null } = {},
) => {
  const events: string[] = []
  const pauses: number[] = []
  let lastMediaAt = 0
  let count = 0
  const settings = { ...DEFAULT_SETTINGS, ...options.settings }
  const session = new Session(
    {
      settings: () => settings,
      patienceMs: () => options.patienceMs ?? null,
      lastMediaAt: () => lastMediaAt,
      onEvent: (event) => events.push(event),
      onFault: (fault) => events.push(`fault:${fault.reason}`),
      onPause: (delay) => {
        if (delay !== null) pauses.push(delay)
      },
      onFailed: async (event) => {
        events.push(event)
      },
      attempt: async (startTimeoutMs, signal, onMedia) => {
        const attempt = attempts[count++] ?? { mediaMs: FOREVER, fault: 'ended' }
        if (attempt.mediaMs === undefined) await wait(attempt.afterMs ?? (attempt.fault === 'timeout' ? startTimeoutMs : 10), signal)
        else {
          onMedia()
          await wait(attempt.mediaMs, signal)
          lastMediaAt = performance.now()
        }
        return signal.aborted ? undefined : new Fault(attempt.fault, `because ${attempt.fault}`)
      },
    },
    { patient: options.patient ?? false, byReader: false },
  )
  return { session, events, pauses, attempts: () => count }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a session that somebody waits for', () => {
  it('has started at the first media', async () => {
    const { session, events } = run([])
    await session.started()
    expect(events).toEqual(['media'])
    session.stop()
    await session.ended
  })

  it('waits for a source that is away, and starts when it comes within the start timeout', async () => {
    const { session, pauses } = run([{ fault: 'unreachable' }, { fault: 'unreachable' }, { fault: 'source_error' }])
    const started = session.started()
    await vi.advanceTimersByTimeAsync(5000)
    await started
    expect(pauses).toEqual([500, 1000, 2000])
    session.stop()
    await session.ended
  })

  it('fails with PIPELINE_START_TIMEOUT and the last cause when the source stays away', async () => {
    const { session, events } = run(Array.from({ length: 20 }, () => ({ fault: 'unreachable' as const })))
    const outcome = expect(session.started()).rejects.toMatchObject({
      code: 'PIPELINE_START_TIMEOUT',
      details: { cause: 'because unreachable', reason: 'unreachable' },
    })
    await vi.advanceTimersByTimeAsync(10_000)
    await outcome
    await session.ended
    expect(events.at(-1)).toBe('timeout')
  })

  it('tells the cause it saw, not that time ran out after it', async () => {
    const { session } = run([{ fault: 'unreachable' }, { fault: 'timeout' }])
    const outcome = expect(session.started()).rejects.toMatchObject({ code: 'PIPELINE_START_TIMEOUT', details: { reason: 'unreachable' } })
    await vi.advanceTimersByTimeAsync(10_000)
    await outcome
  })

  it.each<[FaultCause, string]>([
    ['unauthorized', 'ENGINE_ERROR'],
    ['not_found', 'ENGINE_ERROR'],
    ['missing_element', 'ENGINE_ERROR'],
    ['crashed', 'ENGINE_ERROR'],
    ['ended', 'ENGINE_ERROR'],
    ['device_busy', 'ENGINE_ERROR'],
    ['port_in_use', 'SERVICE_UNAVAILABLE'],
    ['engine_missing', 'SERVICE_UNAVAILABLE'],
  ])('fails at once on %s with %s', async (fault, code) => {
    const { session, events, attempts } = run([{ fault }])
    const outcome = expect(session.started()).rejects.toMatchObject({ code, details: { reason: fault } })
    await vi.advanceTimersByTimeAsync(100)
    await outcome
    expect(events).toEqual([`fault:${fault}`, 'fault'])
    expect(attempts()).toBe(1)
  })

  it('ends with CONFLICT when it is stopped while it starts', async () => {
    const { session } = run([{ fault: 'timeout', afterMs: FOREVER }])
    const outcome = expect(session.started()).rejects.toMatchObject({ code: 'CONFLICT' })
    await vi.advanceTimersByTimeAsync(100)
    session.stop()
    await session.ended
    await outcome
  })
})

describe('a session that had media', () => {
  it('replaces a crashed child at once, however often, when each was sound', async () => {
    const { session, pauses, attempts } = run(Array.from({ length: 12 }, () => ({ mediaMs: 2500, fault: 'crashed' as const })))
    await vi.advanceTimersByTimeAsync(60_000)
    expect([pauses, attempts()]).toEqual([[], 13])
    session.stop()
    await session.ended
  })

  it('waits with doubling delays for a child that keeps crashing right after its first media, or before it', async () => {
    const { session, pauses } = run([
      ...Array.from({ length: 7 }, () => ({ mediaMs: 100, fault: 'crashed' as const })),
      { fault: 'crashed' },
      { mediaMs: 2500, fault: 'crashed' },
      { mediaMs: 100, fault: 'crashed' },
    ])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(pauses).toEqual([500, 1000, 2000])
    session.stop()
    await session.ended
  })

  it('waits no longer than max_delay_seconds', async () => {
    const { session, pauses } = run([
      { mediaMs: 10, fault: 'ended' },
      ...Array.from({ length: 9 }, () => ({ fault: 'unreachable' as const })),
    ])
    await vi.advanceTimersByTimeAsync(200_000)
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000])
    session.stop()
    await session.ended
  })

  it('begins anew with the first delay only after 30 s of good media', async () => {
    const { session, pauses } = run([
      { mediaMs: 100, fault: 'ended' },
      { mediaMs: 100, fault: 'ended' },
      { mediaMs: 31_000, fault: 'ended' },
    ])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(pauses).toEqual([500, 1000, 500])
    session.stop()
    await session.ended
  })

  it('goes on after a 404, which a media server answers until its publisher is back', async () => {
    const { session, events } = run([{ mediaMs: 10, fault: 'ended' }, { fault: 'not_found' }])
    await vi.advanceTimersByTimeAsync(5000)
    expect(events.at(-1)).toBe('media')
    session.stop()
    await session.ended
  })

  it('ends on a 401, since repeating a wrong password locks cameras', async () => {
    const { session, events } = run([{ mediaMs: 10, fault: 'ended' }, { fault: 'unauthorized' }])
    await vi.advanceTimersByTimeAsync(5000)
    await session.ended
    expect(events.at(-1)).toBe('fault')
  })

  it('gives up when the settings say so', async () => {
    const { session, events } = run(
      [{ mediaMs: 10, fault: 'ended' }, ...Array.from({ length: 50 }, () => ({ fault: 'unreachable' as const }))],
      {
        patienceMs: 60_000,
      },
    )
    await vi.advanceTimersByTimeAsync(60_200)
    await session.ended
    expect(events.at(-1)).toBe('give_up')
  })
})

describe('a patient session', () => {
  it('reconnects from the first failure on, and only the wait for it ends', async () => {
    const { session, events } = run(
      Array.from({ length: 8 }, () => ({ fault: 'unreachable' as const })),
      { patient: true },
    )
    const outcome = expect(session.started()).rejects.toMatchObject({ code: 'PIPELINE_START_TIMEOUT', details: { reason: 'unreachable' } })
    await vi.advanceTimersByTimeAsync(10_000)
    await outcome
    expect(events[1]).toBe('lost')
    await vi.advanceTimersByTimeAsync(200_000)
    expect(events.at(-1)).toBe('media')
    session.stop()
    await session.ended
  })

  it('stops within its pause', async () => {
    const { session, attempts } = run([{ fault: 'unreachable' }], { patient: true })
    await vi.advanceTimersByTimeAsync(100)
    session.stop()
    await session.ended
    expect(attempts()).toBe(1)
  })
})
