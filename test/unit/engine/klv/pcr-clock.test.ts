import { describe, expect, it } from 'vitest'
import { PcrClock } from '../../../../engine/klv/pcr-clock.ts'

const SECOND = 90_000
const PID = 0x41

/** A transport packet that carries only a PCR (ISO/IEC 13818-1 section 2.4.3.4). */
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

describe('the PCR clock', () => {
  it('maps the PCR to its running time of arrival, and a later presentation time accordingly', () => {
    const clock = clockWith([10 * SECOND, SECOND])
    expect(clock.runningTicks(10 * SECOND)).toBe(SECOND)
    expect(clock.runningTicks(10 * SECOND + 700)).toBe(SECOND + 700)
  })

  it('uses the smallest lateness, so that jitter of the arrival has no effect', () => {
    const clock = clockWith([10 * SECOND, SECOND + 900], [11 * SECOND, 2 * SECOND], [12 * SECOND, 3 * SECOND + 2700])
    expect(clock.runningTicks(12 * SECOND)).toBe(3 * SECOND)
  })

  it('continues when the 33-bit time stamps and the 32-bit arrival wrap', () => {
    const clock = clockWith([2 ** 33 - SECOND, 2 ** 32 - SECOND], [0, 0], [SECOND, SECOND])
    expect(clock.runningTicks(2 * SECOND)).toBe(2 * SECOND)
    expect(clock.runningTicks(2 ** 33 - 1)).toBe(2 ** 32 - 1)
  })

  it('restarts with a new time base of the sender', () => {
    const clock = clockWith([10 * SECOND, SECOND], [500 * SECOND, 2 * SECOND])
    expect(clock.runningTicks(500 * SECOND)).toBe(2 * SECOND)
  })

  it('uses the PCR of one program, and of another one after that falls silent', () => {
    const clock = clockWith([10 * SECOND, SECOND], [77 * SECOND, SECOND, 0x51])
    expect(clock.runningTicks(10 * SECOND)).toBe(SECOND)
    clock.observe(reference(80 * SECOND, 0x51), 4 * SECOND)
    expect(clock.runningTicks(80 * SECOND)).toBe(4 * SECOND)
    expect(clock.runningTicks(81 * SECOND)).toBe(5 * SECOND)
  })

  it('returns the time of arrival without a time stamp, without a PCR, or with a time stamp far from the PCR', () => {
    expect(clockWith().runningTicks(5)).toBe(0)
    const clock = clockWith([10 * SECOND, SECOND])
    expect(clock.runningTicks(null)).toBe(SECOND)
    expect(clock.runningTicks(60 * SECOND)).toBe(SECOND)
  })

  it.each([188, 1000, 5000])('follows the PCR however its packets are cut: %i bytes at once', (size) => {
    const clock = new PcrClock()
    const other = Buffer.alloc(188, 0xff).fill(Buffer.from('471fff10', 'hex'), 0, 4)
    const minute = Buffer.concat(Array.from({ length: 60 }, (_, second) => [reference(second * SECOND), other]).flat())
    for (let at = 0; at < minute.length; at += size) clock.observe(minute.subarray(at, at + size), Math.floor(at / 376) * SECOND)
    expect(clock.sourceTicks(59 * SECOND) - clock.sourceTicks(55 * SECOND)).toBe(4 * SECOND)
  })

  it('ignores bytes that are not transport packets', () => {
    const clock = clockWith([10 * SECOND, SECOND])
    clock.observe(Buffer.from('no transport'), 2 * SECOND)
    clock.observe(Buffer.concat([Buffer.alloc(188), reference(99 * SECOND)]), 2 * SECOND)
    expect(clock.runningTicks(11 * SECOND)).toBe(2 * SECOND)
  })
})
