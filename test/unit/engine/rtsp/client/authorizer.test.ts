import { describe, expect, it } from 'vitest'
import { Authorizer } from '../../../../../engine/rtsp/client/authorizer.ts'

/** The answer to the challenges; undefined when none is supported. */
const answer = (challenges: readonly string[], user = 'u', password = 'p') => {
  const authorizer = new Authorizer({ user, password })
  return authorizer.challenge(challenges) ? authorizer.header('DESCRIBE', 'rtsp://h/x') : undefined
}

describe('the answer to a challenge', () => {
  it('is Basic as in the example of RFC 7617', () => {
    expect(answer(['Basic realm="WallyWorld"'], 'Aladdin', 'open sesame')).toBe('Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==')
  })

  it('has neither qop nor a nonce of the client for cameras that follow RFC 2069', () => {
    expect(answer(['Digest realm="r", nonce="n"'])).toMatch(
      /^Digest username="u", realm="r", nonce="n", uri="rtsp:\/\/h\/x", response="[0-9a-f]{32}"$/,
    )
  })

  it('repeats what the challenge says, and has what its qop needs', () => {
    const challenge = 'Digest realm="a \\"b\\"", qop="auth, auth-int", algorithm=SHA-256-sess, nonce="n", opaque="o"'
    expect(answer([challenge])).toMatch(
      /realm="a \\"b\\"", nonce="n", .*response="[0-9a-f]{64}", algorithm=SHA-256-sess, opaque="o", qop=auth, nc=00000001, cnonce="[0-9a-f]{24}"$/,
    )
  })

  it.each([
    [['Basic realm="a"', 'Digest realm="a", nonce="n"'], 'Digest'],
    [['Basic realm="a", Digest realm="a", nonce="n", algorithm=SHA-256'], 'Digest'],
    [['Digest realm="a", nonce="n", algorithm=MD5', 'Digest realm="b", nonce="n", algorithm=SHA-256'], 'realm="b"'],
    [['Digest realm="a", nonce="n", algorithm=WHIRLPOOL', 'Basic realm="a"'], 'Basic'],
  ])('is the strongest of %j', (challenges, chosen) => {
    expect(answer(challenges)).toContain(chosen)
  })

  it.each([[[]], [['Negotiate']], [['Digest realm="a"']], [['Digest realm="a", nonce="n", qop="auth-int"']]])(
    'is none for %j',
    (challenges) => {
      expect(answer(challenges)).toBeUndefined()
    },
  )

  it('counts the requests with a nonce', () => {
    const authorizer = new Authorizer({ user: 'u', password: 'p' })
    authorizer.challenge(['Digest realm="r", nonce="n", qop="auth"'])
    expect([1, 2].map(() => /nc=(\d+)/.exec(authorizer.header('PLAY', 'x') ?? '')?.[1])).toEqual(['00000001', '00000002'])
  })

  it('is not repeated after a rejection, unless only the nonce is old', () => {
    const authorizer = new Authorizer({ user: 'u', password: 'p' })
    const challenge = (nonce: string, more = '') => authorizer.challenge([`Digest realm="r", nonce="${nonce}"${more}`])
    expect([challenge('1'), challenge('2'), challenge('3', ', stale=TRUE'), challenge('4')]).toEqual([true, false, true, false])
    authorizer.accepted()
    expect([challenge('5'), challenge('5')]).toEqual([true, false])
  })
})
