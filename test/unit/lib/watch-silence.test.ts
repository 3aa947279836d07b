import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { watchSilence } from '../../../lib/watch-silence.ts'
import { useFakeTimers } from '../../helpers/fake-timers.ts'

beforeEach(useFakeTimers)
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const SILENCE_MS = 8000

const watch = () => {
  let heardAt = performance.now()
  let silences = 0
  const stop = watchSilence({ heardAt: () => heardAt, silenceMs: () => SILENCE_MS, onSilent: () => (silences += 1) })
  const hear = (): void => {
    heardAt = performance.now()
  }
  return { stop, hear, silences: () => silences }
}

/** The clock goes on, the timers do not. */
const standStill = (ms: number): void => {
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ms)
}

describe('a watch for silence', () => {
  it('tells once when nothing has been heard for the time, and no earlier', () => {
    const { hear, silences } = watch()
    vi.advanceTimersByTime(SILENCE_MS - 1)
    expect(silences()).toBe(0)
    hear()
    vi.advanceTimersByTime(SILENCE_MS - 1)
    expect(silences()).toBe(0)
    vi.advanceTimersByTime(SILENCE_MS)
    expect([silences(), vi.getTimerCount()]).toEqual([1, 0])
  })

  it.each([
    ['soon after something was heard', 100],
    ['after half of the time', SILENCE_MS / 2],
  ])('hears what came while the process stood still, %s', (_when, afterMs) => {
    const { hear, silences } = watch()
    vi.advanceTimersByTime(afterMs)
    standStill(120_000)
    vi.advanceTimersToNextTimer()
    hear()
    vi.advanceTimersByTime(SILENCE_MS - 1)
    expect(silences()).toBe(0)
  })

  it('tells of the silence after a standstill too', () => {
    const { silences } = watch()
    standStill(120_000)
    vi.advanceTimersByTime(SILENCE_MS)
    expect(silences()).toBe(1)
  })

  it('leaves no timer behind', () => {
    const { stop, silences } = watch()
    stop()
    vi.advanceTimersByTime(2 * SILENCE_MS)
    expect([silences(), vi.getTimerCount()]).toEqual([0, 0])
  })
})
