import { expect, it } from 'vitest'
import { recoveryFrames } from '../../../../../engine/rtp/repair/recovery-point.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

it.each([
  ['an IDR picture', ['65 88'], 0],
  ['a recovery point with whole pictures', ['06 06 01 c4 80', '41 88'], 0],
  ['one whose pictures are whole after 18 more, of x264', ['09 f0', '06 06 02 09 c4 80', '41 9a'], 18],
  ['one behind another message, in an aggregation packet', ['78 0002 09f0 0009 06 05 01 aa 06 02 0ac0 80 0002 419a'], 20],
  ['one after a slice, which belongs to nothing', ['41 9a', '06 06 02 09 c4 80'], 0],
  ['an SEI that ends early', ['06 06'], 0],
  ['a message that claims to be long', ['06 05 ff ff ff'], 0],
])('%s', (_, payloads, expected) => {
  expect(recoveryFrames('H264', payloads.map(hex))).toBe(expected)
  expect(recoveryFrames('H265', payloads.map(hex))).toBe(0)
})
