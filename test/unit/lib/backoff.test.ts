import { expect, it } from 'vitest'
import { Backoff } from '../../../lib/backoff.ts'

const LIMITS = { initial_delay_ms: 500, max_delay_seconds: 5 }

const delays = (backoff: Backoff, count: number): number[] => Array.from({ length: count }, () => backoff.next(LIMITS))

it.each([
  ['not shortened', 0, [500, 1000, 2000, 4000, 5000, 5000]],
  ['shortened by half of the most', 0.5, [500, 875, 1750, 3500, 4375, 4375]],
  ['a quarter shorter but for the first', 1, [500, 750, 1500, 3000, 3750, 3750]],
])('delays double up to the longest: %s', (_, random, expected) => {
  expect(delays(new Backoff(() => random), 6)).toEqual(expected)
})

it('each delay is random by itself, by default too', () => {
  const drawn = [0, 1, 0.5]
  expect(delays(new Backoff(() => drawn.shift() ?? 0), 4)).toEqual([500, 1000, 1500, 3500])
  expect(delays(new Backoff(), 20)).not.toEqual(delays(new Backoff(), 20))
})

it('a reset begins again with the first delay', () => {
  const backoff = new Backoff(() => 1)
  delays(backoff, 3)
  backoff.reset()
  expect(delays(backoff, 2)).toEqual([500, 750])
})
