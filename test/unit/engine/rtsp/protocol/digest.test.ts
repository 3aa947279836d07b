import { describe, expect, it } from 'vitest'
import { parseAuthorization } from '../../../../../engine/rtsp/protocol/authorization.ts'
import { digestResponse } from '../../../../../engine/rtsp/protocol/digest.ts'

describe('the response of Digest', () => {
  // RFC 7616 section 3.9.1.
  const example = {
    username: 'Mufasa',
    realm: 'http-auth@example.org',
    password: 'Circle of Life',
    method: 'GET',
    uri: '/dir/index.html',
    nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v',
    auth: { nc: '00000001', cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ' },
  }

  it.each([
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
    ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ] as const)('is that of the example of RFC 7616 for %s', (algorithm, response) => {
    expect(digestResponse({ ...example, algorithm })).toBe(response)
  })

  it('is that of RFC 2069 without qop', () => {
    const old = { realm: 'testrealm@host.com', nonce: 'dcd98b7102dd2f0e8b11d0f600bfb0c093', auth: undefined }
    // The erratum of RFC 2069 section 2.4.
    expect(digestResponse({ ...example, ...old, password: 'CircleOfLife', algorithm: 'MD5' })).toBe('1949323746fe6a43ef61f9606e7febea')
  })
})

describe('the Authorization header', () => {
  it.each([
    ['Basic dmlld2VyOmE6Yg==', { scheme: 'basic', username: 'viewer', password: 'a:b' }],
    ['basic  dmlld2VyOg==', { scheme: 'basic', username: 'viewer', password: '' }],
    [
      'Digest username="a \\"b\\"", NC=00000001,qop=auth , uri="rtsp://h/p,q"',
      { username: 'a "b"', nc: '00000001', qop: 'auth', uri: 'rtsp://h/p,q' },
    ],
    [Buffer.from('Digest username="Jäger"', 'utf8').toString('latin1'), { username: 'Jäger' }],
  ])('of the form %s is parsed', (header, expected) => {
    const parsed = parseAuthorization(header)
    expect(parsed?.scheme === 'digest' ? Object.fromEntries(parsed.parameters) : parsed).toEqual(expected)
  })

  it.each([
    '',
    'Basic',
    'Basic dmlld2Vy',
    'Digest',
    'Digest x',
    'Digest a=1, a=2',
    'Digest a="1',
    'Digest a="1" b="2"',
    'Bearer abc',
    'Digestx=1',
  ])('of the form %j is refused', (header) => expect(parseAuthorization(header)).toBeUndefined())

  it('is parsed in linear time', () => {
    const start = performance.now()
    for (const text of ['Digest ', 'Digest a="', 'Digest a=']) parseAuthorization(text + ' \\'.repeat(100_000))
    expect(performance.now() - start).toBeLessThan(500)
  })
})
