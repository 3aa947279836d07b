import { expect, it } from 'vitest'
import { boundOf, clientOf } from '../../../../lib/access/client-of.ts'

it.each([
  ['192.0.2.1', '192.0.2.1', 10],
  ['::ffff:192.0.2.1', '192.0.2.1', 10],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', 10],
  ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64', 10],
  ['2001:db8::1', '2001:db8:0:0::/64', 10],
  ['2001:db8:1::', '2001:db8:1:0::/64', 10],
  ['2001:db8::3:4:5:6:7', '2001:db8:0:3::/64', 10],
  ['::3:4:5:6:7', '0:0:0:3::/64', 10],
  ['fe80::1%eth0', 'fe80:0:0:0::/64', 10],
  ['::1', '0:0:0:0::/64', 40],
  ['127.0.0.1', '127.0.0.1', 40],
  ['127.1.2.3', '127.1.2.3', 40],
  [undefined, 'unknown', 10],
])('%s counts as the client %s, with a bound of %i instead of 10', (address, client, bound) => {
  expect([clientOf(address), boundOf(client, 10)]).toEqual([client, bound])
})
