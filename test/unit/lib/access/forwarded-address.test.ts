import { expect, it } from 'vitest'
import { forwardedAddress } from '../../../../lib/access/forwarded-address.ts'

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.66, 192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:4711', '192.0.2.1'],
  ['192.0.2.66:4711,192.0.2.1:4711', '192.0.2.1'],
  ['2001:db8::1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:4711', '2001:db8::1'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
  ['192.0.2.1, unknown', undefined],
  ['192.0.2.1,', undefined],
  ['', undefined],
  [null, undefined],
])('the client address in "%s" is %s', (header, address) => {
  expect(forwardedAddress(header)).toBe(address)
})
