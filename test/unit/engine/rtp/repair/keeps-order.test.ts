import { expect, it } from 'vitest'
import { keepsOrder } from '../../../../../engine/rtp/repair/keeps-order.ts'

const BASELINE = 'Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA==,aMuMsg=='

it.each([
  ['Baseline', 'H264', [['sprop-parameter-sets', BASELINE]], true],
  ['without parameter sets', 'H264', [], false],
  ['unreadable parameter sets', 'H264', [['sprop-parameter-sets', 'Z0LA,aMuM']], false],
  ['another codec', 'JPEG', [['sprop-parameter-sets', BASELINE]], false],
] as const)('says whether no frame is reordered: %s', (_what, encodingName, parameters, expected) => {
  expect(keepsOrder(encodingName, new Map(parameters))).toBe(expected)
})
