import { expect, it } from 'vitest'
import { hasIdr } from '../../../../../../handlers/dashboard/page/screens/has-idr.ts'

const unit = (...types: number[]) => Uint8Array.from(types.flatMap((type, at) => [...(at === 0 ? [0] : []), 0, 0, 1, type, 1, 5, 0, 1]))

it.each([
  ['an IDR picture after its sets', [0x67, 0x68, 0x65], true],
  ['an IDR picture of the lowest priority', [0x25], true],
  ['a picture that begins to refresh', [0x67, 0x68, 0x06, 0x61], false],
  ['nothing', [], false],
])('tells %s by its NAL units', (_name, types, expected) => {
  expect(hasIdr(unit(...types))).toBe(expected)
})
