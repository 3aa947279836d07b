import { expect, it } from 'vitest'
import { mayName } from '../../../../engine/hls/reachable.ts'

const [PUBLIC, OTHER, LAN, LOOPBACK, METADATA] = ['93.184.216.34', '2606:2800:220:1::1', '192.168.1.20', '127.0.0.1', '169.254.169.254']

it.each([
  [PUBLIC, [OTHER], [LAN, LOOPBACK, METADATA, '10.0.0.1', '172.31.0.1', '100.64.0.1', '0.0.0.0', '::', '::1', 'fd00::1', 'fe80::1']],
  [
    PUBLIC,
    [],
    ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', '224.0.0.1', '255.255.255.255', 'ff02::1', '198.18.0.1'],
  ],
  [LAN, [PUBLIC, '10.0.0.1', 'fd00::1'], [LOOPBACK, METADATA, '::1', '::ffff:127.0.0.1']],
  [LOOPBACK, [PUBLIC, LAN, '::1', '127.9.9.9'], [METADATA, '64:ff9b::1']],
  [METADATA, ['169.254.1.1'], [LOOPBACK, LAN]],
])('a playlist from %s may name %s and not %s', (from, allowed, denied) => {
  expect(allowed.filter((ip) => !mayName(from, ip))).toEqual([])
  expect(denied.filter((ip) => mayName(from, ip))).toEqual([])
})
