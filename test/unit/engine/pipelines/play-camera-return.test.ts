import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Fault } from '../../../../engine/fault.ts'
import { Session } from '../../../../engine/pipelines/play.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'

/** A session whose camera was unplugged after it had played; `back` is what the host calls when one is plugged in. */
const unplugged = () => {
  const waiting = new Set<() => void>()
  const pauses: number[] = []
  let attempts = 0
  const session = new Session(
    {
      settings: () => DEFAULT_SETTINGS,
      patienceMs: () => null,
      lastMediaAt: () => performance.now(),
      onEvent: () => {},
      onFault: () => {},
      onFailed: async () => {},
      onPause: (delay) => {
        if (delay !== null) pauses.push(delay)
      },
      onReturn: (callback) => {
        waiting.add(callback)
        return () => waiting.delete(callback)
      },
      attempt: async (_startTimeoutMs, _signal, onMedia) => {
        attempts += 1
        if (attempts === 1) onMedia()
        return new Fault('device_missing', 'unplugged')
      },
    },
    { patient: false, byReader: false },
  )
  const back = (): void => {
    for (const callback of waiting) callback()
  }
  return { session, pauses, back, waiting, attempts: () => attempts }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a session whose camera is away', () => {
  it('tries again the moment the camera is back, and from then on as soon as at first', async () => {
    const { session, pauses, back, attempts } = unplugged()
    await vi.advanceTimersByTimeAsync(60_000)
    const tried = attempts()
    const [first = 0] = pauses
    expect(pauses.at(-1)).toBeGreaterThan(first * 4)
    back()
    await vi.advanceTimersByTimeAsync(0)
    expect(attempts()).toBe(tried + 1)
    expect(pauses.at(-1)).toBeLessThan(first * 2)
    session.stop()
    await session.ended
  })

  it('is told of no return while it does not wait for one', async () => {
    const { session, waiting } = unplugged()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(waiting.size).toBe(1)
    session.stop()
    await session.ended
    expect(waiting.size).toBe(0)
  })
})
