import { afterEach, expect, it, vi } from 'vitest'
import { watchSilence } from '../../../lib/watch-silence.ts'
import { fakeTimersInEachTest } from '../../helpers/fake-timers.ts'

afterEach(() => void vi.restoreAllMocks())
fakeTimersInEachTest()

const SILENCE_MS = 8000

const watch = () => {
  let heardAt = performance.now()
  const onSilent = vi.fn()
  const stop = watchSilence({ heardAt: () => heardAt, silenceMs: () => SILENCE_MS, onSilent })
  const hear = (): void => {
    heardAt = performance.now()
  }
  return { stop, hear, silences: () => onSilent.mock.calls.length }
}

/** The clock goes on, the timers do not. */
const standStill = (ms: number): void => {
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ms)
}

it('calls once after a silence, and no earlier', () => {
  const { hear, silences } = watch()
  vi.advanceTimersByTime(SILENCE_MS - 1)
  hear()
  vi.advanceTimersByTime(SILENCE_MS - 1)
  expect(silences()).toBe(0)
  vi.advanceTimersByTime(SILENCE_MS)
  expect([silences(), vi.getTimerCount()]).toEqual([1, 0])
})

it.each([100, SILENCE_MS / 2])('after a standstill that begins at %i ms, what has arrived meanwhile counts', (afterMs) => {
  const { hear, silences } = watch()
  vi.advanceTimersByTime(afterMs)
  standStill(120_000)
  vi.advanceTimersToNextTimer()
  hear()
  vi.advanceTimersByTime(SILENCE_MS - 1)
  expect(silences()).toBe(0)
})

it('a silence after a standstill is found too', () => {
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
