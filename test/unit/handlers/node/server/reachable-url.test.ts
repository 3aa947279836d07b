import { describe, expect, it } from 'vitest'
import { reachableUrl } from '../../../../../handlers/node/server/listen.ts'

const INTERFACES = {
  lo: [{ address: '127.0.0.1', family: 'IPv4', internal: true }],
  eth0: [
    { address: 'fe80::1', family: 'IPv6', internal: false },
    { address: '10.0.0.7', family: 'IPv4', internal: false },
  ],
} as const

describe('the address that is shown at start', () => {
  it.each([
    ['http://0.0.0.0:8080', 'http://10.0.0.7:8080'],
    ['http://[::]:8080', 'http://10.0.0.7:8080'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['http://10.0.0.0.0:8080', 'http://10.0.0.0.0:8080'],
    ['http://[fd00::7]:8080', 'http://[fd00::7]:8080'],
  ])('for %s is %s', (url, shown) => {
    expect(reachableUrl(url, INTERFACES)).toBe(shown)
  })

  it('is that of the host itself where it has no network', () => {
    expect(reachableUrl('http://0.0.0.0:8080', { lo: INTERFACES.lo })).toBe('http://127.0.0.1:8080')
  })
})
