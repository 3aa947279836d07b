import { describe, expect, it } from 'vitest'
import { createServiceClock } from '../../../../handlers/client/service-clock.ts'

const HERE = Date.parse('2026-11-20T10:00:00.400Z')
const dated = (time: number) => new Response(null, { headers: { date: new Date(time).toUTCString() } })

describe('the clock of a service', () => {
  it.each([0, 3_600_000, -86_400_000])('is accurate to a second when it is %i ms ahead', (ahead) => {
    let time = HERE
    const clock = createServiceClock(() => time)
    for (let answer = 0; answer < 20; answer++) {
      const sentAt = time
      time += 130
      clock.observe(dated(time + ahead), sentAt)
      expect(Math.abs(clock.now() - (time + ahead))).toBeLessThanOrEqual(ahead === 0 ? 0 : 1000)
      time += 2000
    }
  })

  it('follows when the local clock is set', () => {
    let time = HERE
    const clock = createServiceClock(() => time)
    clock.observe(dated(HERE), time)
    time -= 7_200_000
    clock.observe(dated(HERE), time)
    expect(Math.abs(clock.now() - HERE)).toBeLessThanOrEqual(1000)
  })

  it.each([{}, { date: 'yesterday' }])('equals the local clock after an answer without a valid Date: %j', (headers) => {
    const clock = createServiceClock(() => HERE)
    clock.observe(new Response(null, { headers }), HERE)
    expect(clock.now()).toBe(HERE)
  })
})
