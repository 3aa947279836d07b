import { describe, expect, it } from 'vitest'
import { digestAlgorithm, digestResponse } from '../../../../../engine/rtsp/protocol/digest.ts'

describe('the response of Digest', () => {
  // RFC 7616 section 3.9.1.
  const example = {
    username: 'Mufasa',
    realm: 'http-auth@example.org',
    password: 'Circle of Life',
    method: 'GET',
    uri: '/dir/index.html',
    nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v',
    cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ',
    nc: '00000001',
  }
  const responseOf = (name: string | undefined, input: typeof example | (Omit<typeof example, 'nc'> & { readonly nc: undefined })) => {
    const algorithm = digestAlgorithm(name)
    return algorithm && digestResponse({ ...input, algorithm })
  }

  it.each([
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
    ['sha-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ])('is that of the example of RFC 7616 for %s', (name, response) => {
    expect(responseOf(name, example)).toBe(response)
  })

  it('is that of RFC 2069 without qop and algorithm', () => {
    const old = { realm: 'testrealm@host.com', nonce: 'dcd98b7102dd2f0e8b11d0f600bfb0c093', password: 'CircleOfLife', nc: undefined }
    // The erratum of RFC 2069 section 2.4.
    expect(responseOf(undefined, { ...example, ...old })).toBe('1949323746fe6a43ef61f9606e7febea')
  })

  it('has the nonces in its secret with -sess', () => {
    // RFC 7616 section 3.4.2, computed apart from the sources.
    expect(responseOf('MD5-sess', example)).toBe('e783283f46242139c486a698fec7211d')
  })

  it.each(['', 'WHIRLPOOL', 'SHA-1', '__proto__'])('cannot be made with the algorithm %j', (name) => {
    expect(digestAlgorithm(name)).toBeUndefined()
  })
})
