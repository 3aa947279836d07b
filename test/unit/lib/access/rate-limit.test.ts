import { describe, expect, it } from 'vitest'
import { createRateLimiter } from '../../../../lib/access/rate-limit.ts'

const limit = { name: 'delete', requests: 60, window_seconds: 60 }

const clockAt = (time: number) => {
  const clock = { time, now: () => clock.time }
  return clock
}

describe('a rate limit', () => {
  it('refuses the 61st request of a minute until retry_after_seconds have passed', () => {
    const clock = clockAt(1000)
    const limiter = createRateLimiter(clock)
    for (let count = 0; count < 60; count += 1) {
      limiter.take(limit, '192.0.2.1')
      clock.time += 100
    }
    const refusal = expect.objectContaining({ code: 'RATE_LIMITED', details: { retry_after_seconds: 54 } })
    expect(() => limiter.take(limit, '192.0.2.1')).toThrow(refusal)
    clock.time += 54_000
    expect(() => limiter.take(limit, '192.0.2.1')).not.toThrow()
  })

  it('admits no more in any window, also across a boundary', () => {
    const clock = clockAt(0)
    const limiter = createRateLimiter(clock)
    const passed: number[] = []
    for (clock.time = 0; clock.time < 300_000; clock.time += 250) {
      try {
        limiter.take(limit, 'a')
        passed.push(clock.time)
      } catch {}
    }
    for (const [index, time] of passed.entries()) {
      const sixtieth = passed[index + 60]
      if (sixtieth !== undefined) expect(sixtieth - time).toBeGreaterThanOrEqual(60_000)
    }
    expect(passed.length).toBe(300)
  })

  it('keeps nobody out for longer when the clock is set back', () => {
    const clock = clockAt(10_000_000)
    const limiter = createRateLimiter(clock)
    for (let count = 0; count < 60; count += 1) limiter.take(limit, 'a')
    clock.time -= 3_600_000
    for (let count = 0; count < 60; count += 1) limiter.take(limit, 'a')
    expect(() => limiter.take(limit, 'a')).toThrow(expect.objectContaining({ details: { retry_after_seconds: 60 } }))
  })

  it('counts names and clients separately, and clients without address together', () => {
    const limiter = createRateLimiter(clockAt(0))
    const one = { ...limit, requests: 1 }
    limiter.take(one, 'a')
    limiter.take(one, 'b')
    limiter.take({ ...one, name: 'other' }, 'a')
    limiter.take(one, undefined)
    expect(() => limiter.take(one, 'a')).toThrow()
    expect(() => limiter.take(one, undefined)).toThrow()
  })

  it('drops the least recent client when there are too many', () => {
    const limiter = createRateLimiter(clockAt(0), 3)
    const one = { ...limit, requests: 1 }
    for (const client of ['a', 'b', 'c', 'd']) limiter.take(one, client)
    for (const client of ['b', 'c', 'd']) expect(() => limiter.take(one, client)).toThrow()
    expect(() => limiter.take(one, 'a')).not.toThrow()
  })
})
