import { describe, expect, it } from 'vitest'
import { PcrClock } from '../../../../engine/klv/pcr-clock.ts'

const SECOND = 90_000
const PID = 0x41

/** A transport packet that carries only a clock reference (ISO/IEC 13818-1 section 2.4.3.4). */
const reference = (pcr: number, pid = PID): Buffer => {
  const packet = Buffer.alloc(188, 0xff)
  packet.set([0x47, pid >> 8, pid & 0xff, 0x20, 183, 0x10])
  packet.writeUInt32BE(Math.floor(pcr / 2), 6)
  packet[10] = (pcr % 2) << 7
  return packet
}

const clockWith = (...observed: readonly (readonly [pcr: number, arrival: number, pid?: number])[]): PcrClock => {
  const clock = new PcrClock()
  for (const [pcr, arrival, pid] of observed) clock.observe(reference(pcr, pid), arrival)
  return clock
}

describe('the clock of an MPEG-TS', () => {
  it('maps a presentation time to the running time at which its reference came, and a lead to later', () => {
    const clock = clockWith([10 * SECOND, SECOND])
    expect(clock.runningTicks(10 * SECOND)).toBe(SECOND)
    expect(clock.runningTicks(10 * SECOND + 700)).toBe(SECOND + 700)
  })

  it('takes the least lateness, so that jitter of the arrival does not move it', () => {
    const clock = clockWith([10 * SECOND, SECOND + 900], [11 * SECOND, 2 * SECOND], [12 * SECOND, 3 * SECOND + 2700])
    expect(clock.runningTicks(12 * SECOND)).toBe(3 * SECOND)
  })

  it('goes on when the 33 bits of the time stamps and the 32 of the arrival wrap', () => {
    const clock = clockWith([2 ** 33 - SECOND, 2 ** 32 - SECOND], [0, 0], [SECOND, SECOND])
    expect(clock.runningTicks(2 * SECOND)).toBe(2 * SECOND)
    expect(clock.runningTicks(2 ** 33 - 1)).toBe(2 ** 32 - 1)
  })

  it('begins anew when the sender begins anew', () => {
    const clock = clockWith([10 * SECOND, SECOND], [500 * SECOND, 2 * SECOND])
    expect(clock.runningTicks(500 * SECOND)).toBe(2 * SECOND)
  })

  it('follows one program, and another when that one has fallen silent', () => {
    const clock = clockWith([10 * SECOND, SECOND], [77 * SECOND, SECOND, 0x51])
    expect(clock.runningTicks(10 * SECOND)).toBe(SECOND)
    clock.observe(reference(80 * SECOND, 0x51), 4 * SECOND)
    expect(clock.runningTicks(80 * SECOND)).toBe(4 * SECOND)
  })

  it('says the time of the arrival where there is no time stamp, no reference, or one that is far off', () => {
    expect(clockWith().runningTicks(5)).toBe(0)
    const clock = clockWith([10 * SECOND, SECOND])
    expect(clock.runningTicks(null)).toBe(SECOND)
    expect(clock.runningTicks(60 * SECOND)).toBe(SECOND)
  })

  it('passes over what is no transport packet', () => {
    const clock = clockWith([10 * SECOND, SECOND])
    clock.observe(Buffer.from('no transport'), 2 * SECOND)
    clock.observe(Buffer.concat([Buffer.alloc(188), reference(99 * SECOND)]), 2 * SECOND)
    expect(clock.runningTicks(11 * SECOND)).toBe(2 * SECOND)
  })
})
