import { describe, expect, it } from 'vitest'
import { Backoff } from '../../../lib/backoff.ts'

const LIMITS = { initial_delay_ms: 500, max_delay_seconds: 5 }

const delays = (backoff: Backoff, count: number): number[] => Array.from({ length: count }, () => backoff.next(LIMITS))

describe('a backoff', () => {
  it.each([
    ['as long as they may be', 0, [500, 1000, 2000, 4000, 5000, 5000]],
    ['shortened by half of what chance may take', 0.5, [500, 875, 1750, 3500, 4375, 4375]],
    ['a quarter shorter, but the first, when chance takes all that it may', 1, [500, 750, 1500, 3000, 3750, 3750]],
  ])('doubles its delays up to the longest: %s', (_what, drawn, expected) => {
    expect(delays(new Backoff(() => drawn), 6)).toEqual(expected)
  })

  it('draws each delay anew, so that two which began together part', () => {
    const drawn = [0, 1, 0.5]
    const backoff = new Backoff(() => drawn.shift() ?? 0)
    expect(delays(backoff, 4)).toEqual([500, 1000, 1500, 3500])
  })

  it('begins with the first delay again after a reset', () => {
    const backoff = new Backoff(() => 1)
    delays(backoff, 3)
    backoff.reset()
    expect(delays(backoff, 2)).toEqual([500, 750])
  })

  it('does not draw the same delays as another one, unless it is given where from', () => {
    expect(delays(new Backoff(), 20)).not.toEqual(delays(new Backoff(), 20))
  })
})
