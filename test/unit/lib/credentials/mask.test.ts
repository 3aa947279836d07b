import { describe, expect, it } from 'vitest'
import { tokenize } from '../../../../engine/gst/description.ts'
import { property } from '../../../../engine/gst/element.ts'
import { disguiseDescription, maskDescription, maskUri } from '../../../../lib/credentials/mask.ts'
import { redact } from '../../../../lib/redact.ts'
import { HOSTILE_PASSWORDS } from './hostile-passwords.ts'

describe('masking an address', () => {
  it.each(HOSTILE_PASSWORDS)('masks the password %s', (password) => {
    const encoded = encodeURIComponent(password)
    expect(maskUri(`rtsp://user:${encoded}@10.0.0.5/a`)).toBe('rtsp://***@10.0.0.5/a')
    expect(maskUri(`srt://h:9000?passphrase=${encoded}&latency=20`)).toBe('srt://h:9000?passphrase=***&latency=20')
  })

  it.each(HOSTILE_PASSWORDS.filter((password) => !/[/?#]/.test(password)))('masks the password %s as it is', (password) => {
    expect(maskUri(`rtsp://user:${password}@10.0.0.5/a`)).toBe('rtsp://***@10.0.0.5/a')
  })

  it('masks a value in a query whatever it contains, and by an encoded name', () => {
    expect(maskUri(`http://h/a?token=a"b'c d&fps=30`)).toBe('http://h/a?token=***&fps=30')
    expect(maskUri('srt://h:1?pass%70hrase=s3cret')).toBe('srt://h:1?pass%70hrase=***')
  })

  it('leaves host and port as they are, whatever the host is called', () => {
    for (const uri of [
      'rtsp://auth:554/a',
      'rtsp://my-token:8554/a',
      'srt://secret:9000?mode=caller',
      'rtsp://[::1]:554/a',
      'rtsp://sig:554',
    ])
      expect(maskUri(uri)).toBe(uri)
    expect(maskUri('rtsp://u:p@token:554/a/password=b?auth=c')).toBe('rtsp://***@token:554/a/password=***')
  })

  it('leaves an address without credentials as it is', () => {
    for (const uri of ['rtsp://10.0.0.5:554/a/@b?transport=tcp', 'test://ball?fps=5', 'file:///a@b']) expect(maskUri(uri)).toBe(redact(uri))
  })
})

describe('an empty user, which holds no secret', () => {
  it.each(['udp://@239.1.2.3:5000', 'udp://@[ff15::1]:5000?iface=eth0', 'srt://@:9000'])('is shown in %s', (uri) => {
    const text = `uridecodebin uri=${uri} ! fakesink`
    expect([maskUri(uri), maskDescription(text)]).toEqual([uri, text])
  })

  it('is not one when a secret follows', () => {
    expect(maskUri('srt://@:9000?passphrase=s3cret')).toBe('srt://@:9000?passphrase=***')
    expect(maskUri('rtsp://@s3cret@h/')).toBe('rtsp://***@h/')
    expect(maskUri('rtsp://:s3cret@h/')).toBe('rtsp://***@h/')
  })
})

describe('masking a description', () => {
  it.each(HOSTILE_PASSWORDS)('masks the password %s', (password) => {
    const text = `rtspsrc location=rtsp://h/ user-id=u ${property('user-pw', password)} latency=0 ! fakesink`
    expect(maskDescription(text)).toBe('rtspsrc location=rtsp://h/ user-id=*** user-pw=*** latency=0 ! fakesink')
  })

  it.each(HOSTILE_PASSWORDS)('masks the password %s inside of an address', (password) => {
    const text = `uridecodebin ${property('uri', `rtsp://u:${encodeURIComponent(password)}@h/`)} ! fakesink`
    expect(maskDescription(text)).toBe('uridecodebin uri=rtsp://***@h/ ! fakesink')
  })

  it.each([
    ['rtspsrc user-pw="s3 cret" ! x', 'rtspsrc user-pw="***" ! x'],
    ['rtspsrc user-pw="s3\\"cr et" ! x', 'rtspsrc user-pw="***" ! x'],
    ['rtspsrc user-pw=ab"s3cret ! x', 'rtspsrc user-pw=*** ! x'],
    ['rtspsrc user-pw=s3\\ cret ! x', 'rtspsrc user-pw=*** ! x'],
    ['rtspsrc user-pw = (string)s3cret ! x', 'rtspsrc user-pw = *** ! x'],
    ['rtspsrc user-pw="s3cret ! x', 'rtspsrc user-pw=***'],
    [`bin2 text="rtspsrc user-pw=\\"s3 cret\\" latency=0" ! x`, `bin2 text="rtspsrc user-pw=*** latency=0" ! x`],
    ['rtmp2src location=rtmp://h/a/b username=s3cret password=s3cret', 'rtmp2src location=rtmp://h/a/b username=*** password=***'],
    ["rtsp://u:s3'cret@h/ ! x", 'rtsp://***@h/ ! x'],
    ['x264enc pass=quality ! rtph264pay name=pay0', 'x264enc pass=quality ! rtph264pay name=pay0'],
  ])('masks %s', (text, expected) => {
    expect(maskDescription(text)).toBe(expected)
  })

  it('does not change a masked description', () => {
    for (const password of HOSTILE_PASSWORDS) {
      const masked = maskDescription(`rtspsrc ${property('user-pw', password)} ! x user-pw="a b" ! y`)
      expect(maskDescription(masked)).toBe(masked)
    }
  })

  it('takes linear time for hostile texts', () => {
    for (const part of ['a', 'a.', '@', 'a=', '="', 'a="', '\\"', 'x://', 'a=x://', 'user-pw=', "'", ' = ', 'a=(a)', 'a:'])
      expect(maskDescription(part.repeat(200_000 / part.length)).length).toBeGreaterThan(0)
  })
})

describe('a description for a dry run', () => {
  it.each(HOSTILE_PASSWORDS)('holds no password %s, and as many tokens as before', (password) => {
    const address = `rtsp://u:${encodeURIComponent(password)}@h/`
    const text = `rtspsrc location=${address} ${property('user-pw', password)} ! bin.( ${property('uri', address)} name=a ) ! fakesink`
    const disguised = disguiseDescription(text)
    expect(disguised).not.toContain(password)
    expect(disguised).not.toContain(encodeURIComponent(password))
    expect(tokenize(disguised).map(({ kind, text: { length } }) => [kind, length])).toEqual(
      tokenize(text).map(({ kind, text: { length } }) => [kind, length]),
    )
  })

  it('hides no element that something takes for a credential', () => {
    expect(disguiseDescription(`videotestsrc pw="a ! filesink token=true`)).toBe('videotestsrc pw="a ! aaaaaaaa aaaaa=aaaa')
    expect(disguiseDescription('souphttpsrc cookies="<a=b2>" token=12 auth=true')).toBe('souphttpsrc cookies="<a=a1>" token=11 auth=true')
  })
})
