import { describe, expect, it } from 'vitest'
import { parseAddress, redirectedAddress } from '../../../../engine/faults/address.ts'

describe('parseAddress', () => {
  it.each([
    [
      'rtsp://10.0.0.5/stream',
      { scheme: 'rtsp', host: '10.0.0.5', port: undefined, path: '/stream', user: undefined, bare: 'rtsp://10.0.0.5/stream' },
    ],
    [
      'RTSP://u:p@[fe80::1]:8554/a?b=c#d',
      { scheme: 'rtsp', host: 'fe80::1', port: 8554, path: '/a?b=c', user: 'u', password: 'p', bare: 'rtsp://[fe80::1]:8554/a?b=c' },
    ],
    ['rtsp://us%40er:p%2Fw%3A@h', { user: 'us@er', password: 'p/w:', host: 'h', bare: 'rtsp://h' }],
    ['rtsp://u:p@ss@h/x', { user: 'u', password: 'p@ss', host: 'h', bare: 'rtsp://h/x' }],
    ['rtsp://u:50%@h/x', { user: 'u', password: '50%', bare: 'rtsp://h/x' }],
    ['rtsp://user@h/x', { user: 'user', password: undefined }],
    ['udp://@239.1.1.1:5000', { host: '239.1.1.1', port: 5000, bare: 'udp://239.1.1.1:5000' }],
    ['v4l2:///dev/video0', { host: '', path: '/dev/video0' }],
  ])('parses %s', (uri, parts) => {
    expect(parseAddress(uri)).toMatchObject(parts)
  })

  it.each(['rtsp:x', 'rtsp://h:99999/', 'rtsp://h:0/', 'rtsp://[::1/x'])('rejects %s', (uri) => {
    expect(() => parseAddress(uri)).toThrow()
  })
})

describe('redirectedAddress', () => {
  const RTSP = { name: 'RTSP', schemes: ['rtsp', 'rtsps'] } as const
  const from = parseAddress('rtsp://u:p@h/x')

  const HTTP = { name: 'HTTP', schemes: ['http', 'https'] } as const

  it.each([
    ['keeps', 'rtsp://u:p@h/x', 'rtsp://h/y', RTSP],
    ['keeps', 'rtsp://u:p@h/x', 'rtsp://H:554/y', RTSP],
    ['keeps', 'rtsp://u:p@h:554/x', 'rtsp://h/y', RTSP],
    ['keeps', 'https://u:p@h/x', 'https://h:443/y', HTTP],
    ['drops', 'rtsp://u:p@h/x', 'rtsp://other/y', RTSP],
    ['drops', 'rtsp://u:p@h/x', 'rtsp://h:8554/y', RTSP],
    ['drops', 'rtsps://u:p@h:554/x', 'rtsp://h:554/y', RTSP],
    ['drops', 'https://u:p@h/x', 'http://h/y', HTTP],
    ['drops', 'https://u:p@h:8080/x', 'http://h:8080/y', HTTP],
    ['drops', 'http://u:p@h/x', 'http://h:8080/y', HTTP],
  ])('%s the credentials of %s at %s', (what, start, to, protocol) => {
    const expected = what === 'keeps' ? { user: 'u', password: 'p' } : { user: undefined, password: undefined }
    expect(redirectedAddress(parseAddress(start), to, protocol)).toMatchObject(expected)
  })

  it('takes the credentials of the new address', () => {
    expect(redirectedAddress(from, 'rtsp://a:b@other/y', RTSP)).toMatchObject({ user: 'a', password: 'b' })
  })

  it('rejects an address with control characters, and does not repeat them', () => {
    const redirect = () => redirectedAddress(from, 'rtsp://other/\u001b[31m', RTSP)
    expect(redirect).toThrow(/ redirects to an address that cannot be read\.$/)
  })

  it('rejects another protocol, and shows no credentials', () => {
    const redirect = () => redirectedAddress(parseAddress('rtsp://u:p@h/x?token=secret'), 'http://h/', RTSP)
    expect(redirect).toThrow(/^rtsp:\/\/h\/x\?token=\*\*\* redirects to an address that is not RTSP\./)
  })
})
