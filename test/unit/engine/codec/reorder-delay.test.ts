import { describe, expect, it } from 'vitest'
import { BitWriter, withEmulation } from '../../../../engine/codec/bits.ts'
import { parseH264Sps } from '../../../../engine/codec/h264-sps.ts'
import { withoutReorderDelay } from '../../../../engine/codec/reorder-delay.ts'

type Vui = 'none' | 'timing' | 'restriction'

/** A sequence parameter set as a camera without B-frames writes it: High profile, 1920x1080, order type 0, four reference frames. */
const cameraSps = (vui: Vui): Uint8Array => {
  const to = new BitWriter()
  for (const byte of [0x67, 100, 0, 40]) to.number(byte, 8)
  // Id, 4:2:0, 8 and 8 bits, no transform bypass, no scaling matrix, frame number of 4 bits, order type 0 of 4 bits.
  for (const value of [0, 1, 0, 0]) to.ue(value)
  to.number(0, 2)
  for (const value of [0, 0, 0, 4]) to.ue(value)
  to.bit(0)
  // 120 x 68 macroblocks, frames only, direct inference, cropped by 4 x 2 lines.
  for (const value of [119, 67]) to.ue(value)
  to.number(0b111, 3)
  for (const value of [0, 0, 0, 4]) to.ue(value)
  to.bit(vui === 'none' ? 0 : 1)
  if (vui !== 'none') {
    // No aspect ratio, overscan, signal type or chroma location; 25 frames per second; no HRD; no pic_struct.
    to.number(0b00001, 5)
    to.number(1, 32)
    to.number(50, 32)
    to.number(0b1000, 4)
    to.bit(vui === 'restriction' ? 1 : 0)
  }
  if (vui === 'restriction') {
    to.bit(1)
    for (const value of [0, 0, 11, 11, 2, 4]) to.ue(value)
  }
  return withEmulation(to.finish())
}

describe('withoutReorderDelay', () => {
  it.each(['none', 'timing'] as const)('adds what is missing to a set with a VUI of: %s', (vui) => {
    const before = parseH264Sps(cameraSps(vui))
    const rewritten = withoutReorderDelay(cameraSps(vui))
    const { vuiAt, timingAt, restrictionAt, ...after } = parseH264Sps(rewritten) ?? {}
    expect(before).toMatchObject({ width: 1920, height: 1080, reorderFrames: undefined })
    expect(after).toEqual({
      id: 0,
      profile: 100,
      constraints: 0,
      level: 40,
      width: 1920,
      height: 1080,
      fields: false,
      frameNumBits: expect.any(Number),
      pictureOrderType: 0,
      referenceFrames: 4,
      frameRate: vui === 'timing' ? 25 : null,
      reorderFrames: 0,
      timed: vui === 'timing',
    })
    expect([vuiAt, timingAt, restrictionAt]).toEqual([before?.vuiAt, expect.any(Number), expect.any(Number)])
    // No start code inside, and nothing to do a second time.
    expect(Buffer.from(rewritten).includes(Buffer.from([0, 0, 1]))).toBe(false)
    expect(withoutReorderDelay(rewritten)).toBe(rewritten)
  })

  it('leaves a set as it is that says how many pictures are reordered, and what is no set of H.264', () => {
    for (const nal of [cameraSps('restriction'), Uint8Array.of(0x42, 1, 1), Uint8Array.of(0x67), new Uint8Array(0)]) {
      expect(withoutReorderDelay(nal)).toBe(nal)
    }
    expect(parseH264Sps(cameraSps('restriction'))).toMatchObject({ reorderFrames: 2 })
  })
})
