import { hostname, networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import { isOwnAddress, isOwnHost } from '../../../../engine/outputs/own-host.ts'

const INTERFACES = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))

describe('the own host', () => {
  it.each([
    ...'127.0.0.1 127.9.8.7 0.0.0.0 :: ::1 0:0:0:0:0:0:0:1 ::ffff:127.0.0.1 [::ffff:127.0.0.1] ::FFFF:7f00:1 ::ffff:0.0.0.0'.split(' '),
    ...'2130706433 0x7f000001 0x7F.1 0177.0.0.1 127.1 0 localhost LocalHost. cam.localhost ip6-localhost'.split(' '),
    hostname(),
    `${hostname().toUpperCase()}.`,
    `${hostname()}.local`,
    ...INTERFACES,
    ...INTERFACES.filter((address) => !address.includes(':')).map((address) => `::ffff:${address}`),
  ])('may be written %s', (host) => {
    expect(isOwnHost(host)).toBe(true)
  })

  it.each([...'192.0.2.1 ::ffff:192.0.2.1 2001:db8::1 3221225985 localhost.example mylocalhost media.example % 1.2.3.4.5'.split(' '), ''])(
    'is not %s',
    (host) => {
      expect(isOwnHost(host)).toBe(false)
    },
  )
})

describe('the address of an output', () => {
  it('is one of this host', () => {
    const asked = ['0.0.0.0', '127.0.0.1', '127.9.9.9', '::', '::1', '127.300.0.1', '127.0.0.01', '192.0.2.9', '2001:db8::9']
    expect(asked.filter(isOwnAddress)).toEqual(['0.0.0.0', '127.0.0.1', '127.9.9.9', '::', '::1'])
  })
})
