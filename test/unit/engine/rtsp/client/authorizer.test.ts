import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { authorize } from '../../../../../engine/rtsp/client/authorizer.ts'

describe('authorize', () => {
  const request = { method: 'GET', uri: '/dir/index.html' }
  const md5 = (text: string) => createHash('md5').update(text).digest('hex')

  it('answers Basic as in the example of RFC 7617', () => {
    const credentials = { user: 'Aladdin', password: 'open sesame' }
    expect(authorize(['Basic realm="WallyWorld"'], credentials, request)).toBe('Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==')
  })

  it('answers Digest without qop for cameras that follow RFC 2069', () => {
    const header = authorize(['Digest realm="r", nonce="n"'], { user: 'u', password: 'p' }, { method: 'DESCRIBE', uri: 'rtsp://h/x' })
    expect(header).toContain(`response="${md5(`${md5('u:r:p')}:n:${md5('DESCRIBE:rtsp://h/x')}`)}"`)
    expect(header).not.toContain('qop')
  })

  it.each([
    ['MD5', 'md5'],
    ['SHA-256', 'sha256'],
  ])('answers Digest with qop=auth and %s as in RFC 7616 section 3.9.1', (algorithm, name) => {
    const hash = (text: string) => createHash(name).update(text).digest('hex')
    const challenge = `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=${algorithm}, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
    const header = authorize([challenge], { user: 'Mufasa', password: 'Circle of Life' }, request) ?? ''
    const cnonce = /cnonce="([^"]+)"/.exec(header)?.[1] ?? ''
    const secret = hash('Mufasa:http-auth@example.org:Circle of Life')
    const expected = hash(`${secret}:7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v:00000001:${cnonce}:auth:${hash('GET:/dir/index.html')}`)
    expect(cnonce).not.toBe('')
    expect(header).toContain(`response="${expected}"`)
    expect(header).toContain('opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"')
  })

  it.each([
    [['Basic realm="a"', 'Digest realm="a", nonce="n"'], 'Digest'],
    [['Basic realm="a", Digest realm="a", nonce="n", algorithm=SHA-256'], 'Digest'],
    [['Digest realm="a", nonce="n", algorithm=MD5', 'Digest realm="b", nonce="n", algorithm=SHA-256'], 'realm="b"'],
    [['Digest realm="a", nonce="n", algorithm=WHIRLPOOL', 'Basic realm="a"'], 'Basic'],
  ])('chooses the strongest of %j', (challenges, chosen) => {
    expect(authorize(challenges, { user: 'u', password: 'p' }, request)).toContain(chosen)
  })

  it.each([[[]], [['Negotiate']], [['Digest realm="a"']], [['Digest realm="a", nonce="n", qop="auth-int"']]])(
    'does not answer %j',
    (challenges) => {
      expect(authorize(challenges, { user: 'u', password: 'p' }, request)).toBeUndefined()
    },
  )
})
