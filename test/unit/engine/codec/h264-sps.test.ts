import { describe, expect, it } from 'vitest'
import { frameRateOfSps } from '../../../../engine/codec/h264-sps.ts'

describe('frameRateOfSps', () => {
  it.each([
    ['x264, 30 fps, constrained baseline', 'Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA==', 30],
    ['x264, 30 fps, 4:4:4', 'Z/QADZGbKCg/YC1BgYGQAAADABAAAAMDyPFCmWA=', 30],
    ['a truncated one', 'Z0LAFdkB', null],
    ['an empty one', '', null],
    ['a picture parameter set', 'aMuMsg==', null],
  ])('reads %s', (_what, base64, rate) => {
    expect(frameRateOfSps(Buffer.from(base64, 'base64'))).toBe(rate)
  })

  it('returns a plausible rate or null for random bytes', () => {
    let seed = 1
    for (let round = 0; round < 20_000; round++) {
      const bytes = Uint8Array.from({ length: 1 + (round % 60) }, () => {
        seed = (seed * 1103515245 + 12345) % 2147483648
        return seed >> 16
      })
      bytes[0] = 0x67
      const rate = frameRateOfSps(bytes)
      if (rate !== null && !(rate >= 1 && rate <= 240)) throw new Error(`rate ${rate}`)
    }
    expect(frameRateOfSps(new Uint8Array(2000).fill(0x67))).toBeNull()
  })
})
