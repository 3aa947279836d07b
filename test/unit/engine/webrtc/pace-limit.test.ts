import { describe, expect, it } from 'vitest'
import { PaceLimit } from '../../../../engine/webrtc/pace-limit.ts'

const OFFERED = 200
const ENOUGH = 190

interface Second {
  readonly estimate: number
  readonly lost?: number
  readonly roundTripMs?: number
}

/** The limit at the end of each second, bytes per millisecond; reports come once a second, estimates ten times. */
const limitsOf = (seconds: readonly Second[]): readonly (number | undefined)[] => {
  const limit = new PaceLimit(0)
  return seconds.map(({ estimate, lost = 0, roundTripMs }, second) => {
    if (roundTripMs !== undefined) limit.observe(lost, roundTripMs, second * 1000)
    const updates = Array.from({ length: 10 }, (_, part) => limit.update(estimate, OFFERED, second * 1000 + part * 100))
    return updates.at(-1)
  })
}

/** A receiver that estimated for a while, and then this much. */
const afterwards = (rest: Omit<Second, 'estimate'>, estimate = 120): readonly Second[] => [
  ...[150, 160, 170, 180, ENOUGH].map((begin) => ({ estimate: begin, roundTripMs: 100 })),
  ...Array.from({ length: 20 }, () => ({ estimate, ...rest })),
]
const limited = (seconds: readonly Second[]): number => limitsOf(seconds).filter((limit) => limit !== undefined).length

describe('the pace of a session', () => {
  it('is not limited by an estimate while little is lost and nothing is held up on the way', () => {
    expect(limited(afterwards({ roundTripMs: 110 }))).toBe(0)
    expect(limited(afterwards({ roundTripMs: 100, lost: 0.05 }))).toBe(0)
  })

  it.each<[string, Omit<Second, 'estimate'>]>([
    ['packets are held up on the way', { roundTripMs: 250 }],
    ['much is lost', { roundTripMs: 100, lost: 0.2 }],
    ['nothing is known of the way', {}],
  ])('is limited by an estimate where %s', (_case, rest) => {
    expect(limited(afterwards(rest))).toBeGreaterThan(10)
  })

  it('is not limited because one report was late', () => {
    const seconds = afterwards({ roundTripMs: 100 }).map((second, at) => (at % 7 === 0 ? { ...second, roundTripMs: 400 } : second))
    expect(limited(seconds)).toBe(0)
  })

  it('is what a receiver states that does not estimate, but that more is tried now and then', () => {
    const seconds = Array.from({ length: 30 }, () => ({ estimate: 80, roundTripMs: 100 }))
    expect(limited(seconds)).toBeGreaterThan(20)
    expect(new Set(limitsOf(seconds))).toEqual(new Set([undefined, 80]))
  })
})
