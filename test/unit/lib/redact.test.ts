import { describe, expect, it } from 'vitest'
import { redact } from '../../../lib/redact.ts'

const masked: readonly (readonly [text: string, expected: string])[] = [
  ['rtsp://admin:s3cret@10.0.0.5/stream', 'rtsp://***@10.0.0.5/stream'],
  ['rtsp://s3cret@10.0.0.5/stream', 'rtsp://***@10.0.0.5/stream'],
  ['rtsp://admin:s3c@ret@10.0.0.5/stream', 'rtsp://***@10.0.0.5/stream'],
  ['rtsp://@s3cret@10.0.0.5/stream', 'rtsp://***@10.0.0.5/stream'],
  ['rtsp://:s3cret@10.0.0.5/stream', 'rtsp://***@10.0.0.5/stream'],
  ['RTSPS://admin:s3cret@[::1]:322/stream', 'RTSPS://***@[::1]:322/stream'],
  ['two: rtsp://a:s3cret@h/ and http://b:s3cret@i/', 'two: rtsp://***@h/ and http://***@i/'],
  ['http://h/v.m3u8?token=s3cret&fps=30', 'http://h/v.m3u8?token=***&fps=30'],
  ['http://h/v.m3u8?access_token=s3cret', 'http://h/v.m3u8?access_token=***'],
  ['http://h/?a=1&Password=s3cret#top', 'http://h/?a=1&Password=***'],
  ['http://h/?pass=s3cret', 'http://h/?pass=***'],
  ['srt://h:9000?passphrase=s3cret&latency=20', 'srt://h:9000?passphrase=***&latency=20'],
  ['srt://h:9000?streamid=#!::u=bob,r=s3cret', 'srt://h:9000?streamid=***'],
  ['rtsp://h/user=admin_password=s3cret_channel=1.sdp', 'rtsp://h/user=admin_password=***'],
  ['rtspsrc location=rtsp://h/ user-id=s3cret user-pw=s3cret latency=0', 'rtspsrc location=rtsp://h/ user-id=*** user-pw=*** latency=0'],
  ['rtspsrc user-pw="s3 cret" ! x', 'rtspsrc user-pw="***" ! x'],
  ['rtspsrc user-pw="s3\\"cret" ! x', 'rtspsrc user-pw="***" ! x'],
  ["rtspsrc user-pw='s3 cret' ! x", "rtspsrc user-pw='***' ! x"],
  ['rtspsrc user-pw=s3\\ cret ! x', 'rtspsrc user-pw=*** ! x'],
  ['rtspsrc user-pw=s3&cr#et; latency=0', 'rtspsrc user-pw=*** latency=0'],
  ['rtspsrc user-pw = s3cret ! x', 'rtspsrc user-pw = *** ! x'],
  ['{"password":"s3cret","a":1}', '{"password":"***","a":1}'],
  ['Authorization: Digest username="s3cret", response="s3cret"', 'Authorization: ***'],
  ['X-API-Key: s3cret', 'X-API-Key: ***'],
  ['authorization: Bearer s3cret\r\nhost: h', 'authorization: ***\r\nhost: h'],
]

const untouched = [
  'rtsp://10.0.0.5:554/Streaming/Channels/101?transportmode=unicast',
  'rtsp://0.0.0.0:50000/cam-1',
  'test://smpte?width=640&height=480&fps=30&klv=1',
  'videotestsrc is-live=true ! x264enc pass=quality ! rtph264pay name=pay0',
  'filesrc location=/a@b ! fakesink',
  'The source answered 401 Unauthorized',
  'udp://@239.1.2.3:5000',
  'the source udp://@239.1.2.3:5000?timeout=5 and srt://@:9000 sent nothing',
  'a colon: and an @ sign',
  'compass=north bypass=1 jobpw=2 wishtoken:3',
  'http://h/?bypass=1&lowauth=2',
]

describe('redacting', () => {
  it.each(masked)('masks %s, once', (text, expected) => {
    expect(redact(text)).toBe(expected)
    expect(redact(expected)).toBe(expected)
  })

  it.each(untouched)('leaves alone %s', (text) => expect(redact(text)).toBe(text))

  it('takes linear time for hostile texts', () => {
    // A quadratic expression would need minutes for these, a linear one milliseconds; the timeout of the test judges.
    const parts = ['a', 'a.', '@', 'a@', '://', '://@', '://@a@', 'x://', 'password', 'password ', 'user-', 'user_id', 'token=', 'auth: ']
    for (const part of [...parts, '"\\', '?', '&a', ' = ']) expect(redact(part.repeat(2_000_000 / part.length)).length).toBeGreaterThan(0)
  })
})
