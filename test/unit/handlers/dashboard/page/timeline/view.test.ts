import { expect, it } from 'vitest'
import { around, DAY, follow, LENGTHS, percentOf, ticksOf, visible } from '../../../../../../handlers/dashboard/page/timeline/view.ts'

const NOON = Date.parse('2026-11-20T12:00:00Z')
const HOUR = 3_600_000

it('shows from ten seconds to a month, around a moment', () => {
  expect(around(NOON, 1)).toEqual({ from: NOON - 5000, to: NOON + 5000 })
  expect(around(NOON, 400 * DAY)).toEqual({ from: NOON - 15.5 * DAY, to: NOON + 15.5 * DAY })
})

it('moves with the moment only when that leaves it', () => {
  const view = { from: NOON, to: NOON + HOUR }
  expect(follow(view, NOON + 5)).toBe(view)
  for (const at of [NOON - 1, NOON + HOUR + 1]) {
    const moved = follow(view, at)
    expect([moved.to - moved.from, percentOf(moved, at)]).toEqual([HOUR, at < NOON ? 10 : 90])
  }
})

it.each(LENGTHS)('has a few ticks at round local times in a $name', ({ ms }) => {
  const offset = 5.5 * HOUR
  const ticks = ticksOf(around(NOON + 1234, ms), offset)
  expect(ticks.length).toBeGreaterThanOrEqual(3)
  expect(ticks.length).toBeLessThanOrEqual(9)
  const step = (ticks[1] ?? 0) - (ticks[0] ?? 0)
  expect(ticks.every((at) => (at + offset) % step === 0)).toBe(true)
})

it('draws spans cut to the view, and those closer than a pixel as one', () => {
  const view = { from: 0, to: 1_000_000 }
  const spans = [
    { from: 500_000, to: 600_000 },
    { from: -9, to: 100 },
    { from: 600_500, to: 2_000_000 },
    { from: -9, to: -1 },
  ]
  expect(visible(spans, view)).toEqual([
    { from: 0, to: 100 },
    { from: 500_000, to: 1_000_000 },
  ])
})
