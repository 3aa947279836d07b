import { describe, expect, it } from 'vitest'
import { parseAuthentication } from '../../../../../engine/rtsp/protocol/authentication.ts'

const read = (header: string) =>
  parseAuthentication(header).map(({ scheme, token, parameters, malformed }) => ({
    [scheme]: scheme === 'basic' && token !== '' ? token : Object.fromEntries(parameters),
    ...(malformed && { malformed }),
  }))

describe('authentication', () => {
  it.each([
    ['Basic dmlld2VyOmE6Yg==', [{ basic: 'dmlld2VyOmE6Yg==' }]],
    [' basic  dmlld2VyOg ', [{ basic: 'dmlld2VyOg' }]],
    ['Basic realm=x', [{ basic: { realm: 'x' } }]],
    [
      'Digest a="b \\"c\\"", NC=00000001,qop=auth , uri="rtsp://h/p,q",',
      [{ digest: { a: 'b "c"', nc: '00000001', qop: 'auth', uri: 'rtsp://h/p,q' } }],
    ],
    [Buffer.from('Digest username="Jäger"', 'utf8').toString('latin1'), [{ digest: { username: 'Jäger' } }]],
    [
      'Basic realm="a", Digest realm="b, Basic realm=c", nonce="n"',
      [{ basic: { realm: 'a' } }, { digest: { realm: 'b, Basic realm=c', nonce: 'n' } }],
    ],
    ['Negotiate, Digest nonce="n", Bearer nonce="m"', [{ digest: { nonce: 'n' }, malformed: true }]],
  ])('is read from %s', (header, expected) => {
    expect(read(header)).toEqual(expected)
  })

  it.each(['', 'Bearer abc', 'Digestx=1', 'Digest: x', 'a=1'])('is none in %j', (header) => expect(read(header)).toEqual([]))

  it.each([
    ['Digest x', {}],
    ['Digest a=1, a=2', { a: '1' }],
    ['Digest a="1', { a: '' }],
    ['Digest a="1" b="2"', { a: '1', b: '2' }],
    ['Digest qop=auth,auth-int, nonce=n', { qop: 'auth', nonce: 'n' }],
  ])('is read from %s, which is malformed', (header, parameters) => {
    expect(read(header)).toEqual([{ digest: parameters, malformed: true }])
  })

  it('is read in linear time', () => {
    // CPU time: other programs may have both cores.
    const start = process.cpuUsage()
    for (const text of ['Basic ', 'Digest a="', 'Digest a='])
      for (const more of [' \\', ' ']) parseAuthentication(text + more.repeat(100_000))
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(2000)
  })
})
