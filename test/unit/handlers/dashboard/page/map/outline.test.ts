import { expect, it } from 'vitest'
import { decodeLine, worldOutline } from '../../../../../../handlers/dashboard/page/map/outline.ts'

it('reads points as the distance from the one before', () =>
  expect(decodeLine('-671 451 1 -3 0 10')).toEqual([
    [45.1, -67.1],
    [44.8, -67],
    [45.8, -67],
  ]))

it('has coasts near Lisbon, Cape Town and Wellington, and no line across the world', () => {
  const lines = worldOutline()
  for (const [latitude, longitude] of [
    [38.7, -9.4],
    [-34.2, 18.4],
    [-41.4, 174.9],
  ] as const)
    expect(lines.flat().some(([y, x]) => Math.hypot(y - latitude, x - longitude) < 1.5)).toBe(true)
  const longest = Math.max(...lines.map((line) => Math.max(...line.slice(1).map(([, x], at) => Math.abs(x - (line[at]?.[1] ?? x))))))
  expect(longest).toBeLessThan(20)
})
