import { describe, expect, it } from 'vitest'
import { covers } from '../../../../../engine/rtsp/publisher/listening-ports.ts'

describe('a mount at an address', () => {
  it.each([
    ['::', '10.0.0.7', true],
    ['::', 'fe80::1%eth0', true],
    ['0.0.0.0', '10.0.0.7', true],
    ['0.0.0.0', 'fe80::1', false],
    ['10.0.0.7', '10.0.0.7', true],
    ['10.0.0.7', '10.0.0.8', false],
    ['fe80::1', 'fe80:0:0:0:0:0:0:1%eth0', true],
    ['fe80::1', 'fe80::2', false],
  ])('at %s and a connection to %s: %s', (host, localAddress, reached) => {
    expect(covers(host, localAddress)).toBe(reached)
  })
})
