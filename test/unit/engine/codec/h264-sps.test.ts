import { describe, expect, it } from 'vitest'
import { BitReader, BitWriter, withEmulation, withoutEmulation } from '../../../../engine/codec/bits.ts'
import { frameRateOfSps, parseH264Sps } from '../../../../engine/codec/h264-sps.ts'

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

/** x264's, with a bitstream_restriction (section E.1.1) that says how many pictures are reordered. */
const withReorderFrames = (frames: number): Uint8Array => {
  const nal = Buffer.from('Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA==', 'base64')
  const to = new BitWriter()
  to.copy(new BitReader(withoutEmulation(nal)), parseH264Sps(nal)?.restrictionAt ?? 0)
  to.number(0b11, 2)
  for (const value of [2, 1, 16, 16, frames, 1]) to.ue(value)
  return withEmulation(to.finish())
}

it('a sequence parameter set that reorders more pictures than any decoder holds is refused', () => {
  expect(parseH264Sps(withReorderFrames(16))?.reorderFrames).toBe(16)
  for (const frames of [17, 2 ** 32 - 2]) expect(parseH264Sps(withReorderFrames(frames))).toBeUndefined()
})
