import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { checkSimple } from '../../../../engine/launch/simple.ts'
import { parseSdp } from '../../../../engine/rtsp/protocol/sdp.ts'
import { parseAddress } from '../../../../engine/sources/address.ts'
import { authorize } from '../../../../engine/sources/authorization.ts'
import { factsOfSdp } from '../../../../engine/sources/rtsp.ts'
import { frameRateOfSps } from '../../../../engine/sources/sps.ts'
import { parseTestSource } from '../../../../engine/sources/test-source.ts'
import type { SimpleConfig } from '../../../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'

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
  ])('splits %s', (uri, parts) => {
    expect(parseAddress(uri)).toMatchObject(parts)
  })

  it.each(['rtsp:x', 'rtsp://h:99999/', 'rtsp://h:0/', 'rtsp://[::1/x'])('refuses %s', (uri) => {
    expect(() => parseAddress(uri)).toThrow()
  })
})

describe('authorize', () => {
  const request = { method: 'GET', uri: '/dir/index.html' }
  const md5 = (text: string) => createHash('md5').update(text).digest('hex')

  it('answers Basic as RFC 7617 shows', () => {
    const credentials = { user: 'Aladdin', password: 'open sesame' }
    expect(authorize(['Basic realm="WallyWorld"'], credentials, request)).toBe('Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==')
  })

  it('answers Digest without qop as RFC 2069 cameras want it', () => {
    const header = authorize(['Digest realm="r", nonce="n"'], { user: 'u', password: 'p' }, { method: 'DESCRIBE', uri: 'rtsp://h/x' })
    expect(header).toContain(`response="${md5(`${md5('u:r:p')}:n:${md5('DESCRIBE:rtsp://h/x')}`)}"`)
    expect(header).not.toContain('qop')
  })

  it.each([
    ['MD5', 'md5'],
    ['SHA-256', 'sha256'],
  ])('answers Digest with qop=auth and %s as RFC 7616 section 3.9.1 computes it', (algorithm, name) => {
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
  ])('takes the strongest of %j', (challenges, chosen) => {
    expect(authorize(challenges, { user: 'u', password: 'p' }, request)).toContain(chosen)
  })

  it.each([[[]], [['Negotiate']], [['Digest realm="a"']], [['Digest realm="a", nonce="n", qop="auth-int"']]])(
    'answers nothing to %j',
    (challenges) => {
      expect(authorize(challenges, { user: 'u', password: 'p' }, request)).toBeUndefined()
    },
  )
})

const sdp = (...media: readonly string[]) => parseSdp(['v=0', 'o=- 1 1 IN IP4 0.0.0.0', 's=x', 't=0 0', ...media].join('\r\n'))
const address = parseAddress('rtsp://u:p@h/x')
const video = ['m=video 0 RTP/AVP 96', 'a=rtpmap:96 H264/90000']

describe('factsOfSdp', () => {
  it.each([
    ['H.264', sdp(...video), { video: 'H264', klv: false, frameRate: null }],
    ['lower case', sdp('m=video 0 RTP/AVP 96', 'a=rtpmap:96 h265/90000'), { video: 'H265' }],
    ['a static payload type', sdp('m=video 0 RTP/AVP 26'), { video: 'JPEG' }],
    ['MPEG-TS', sdp('m=video 0 RTP/AVP 33'), { video: 'MP2T', klv: null }],
    ['KLV', sdp(...video, 'm=application 0 RTP/AVP 97', 'a=rtpmap:97 SMPTE336M/90000'), { klv: true }],
    ['KLV in lower case', sdp(...video, 'm=application 0 RTP/AVP 107', 'a=rtpmap:107 smpte336m/90000'), { klv: true }],
    [
      'ONVIF metadata, which is no KLV',
      sdp(...video, 'm=application 0 RTP/AVP 107', 'a=rtpmap:107 vnd.onvif.metadata/90000'),
      { klv: false },
    ],
    ['a frame rate', sdp(...video, 'a=framerate:12.5'), { frameRate: 12.5 }],
    ['an impossible frame rate', sdp(...video, 'a=framerate:90000'), { frameRate: null }],
    ['sound first', sdp('m=audio 0 RTP/AVP 0', ...video), { video: 'H264' }],
  ] as const)('reads %s', (_what, description, expected) => {
    expect(factsOfSdp(description, address, 'tcp')).toMatchObject({ kind: 'rtsp', transport: 'tcp', paced: false, ...expected })
  })

  it('refuses a source without video, and shows no credential', () => {
    expect(() => factsOfSdp(sdp('m=audio 0 RTP/AVP 0'), address, 'tcp')).toThrow(/^rtsp:\/\/h\/x has no video \(only audio\)\.$/)
  })
})

describe('frameRateOfSps', () => {
  it.each([
    ['x264, 30 fps, constrained baseline', 'Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA==', 30],
    ['x264, 30 fps, 4:4:4', 'Z/QADZGbKCg/YC1BgYGQAAADABAAAAMDyPFCmWA=', 30],
    ['a cut one', 'Z0LAFdkB', null],
    ['none', '', null],
    ['a picture parameter set', 'aMuMsg==', null],
  ])('reads %s', (_what, base64, rate) => {
    expect(frameRateOfSps(Buffer.from(base64, 'base64'))).toBe(rate)
  })

  it('answers a possible rate or null whatever the bytes are', () => {
    let seed = 1
    for (let round = 0; round < 20_000; round++) {
      const bytes = Uint8Array.from({ length: 1 + (round % 60) }, () => {
        seed = (seed * 1103515245 + 12345) % 2147483648
        return seed >> 16
      })
      bytes[0] = 0x67
      const rate = frameRateOfSps(bytes)
      if (rate !== null && !(rate >= 1 && rate <= 240)) throw new Error(`rate ${rate}`)
    }
    expect(frameRateOfSps(new Uint8Array(2000).fill(0x67))).toBeNull()
  })
})

describe('parseTestSource', () => {
  it('has defaults', () => {
    expect(parseTestSource(parseAddress('test://smpte'))).toEqual({ pattern: 'smpte', width: 640, height: 360, fps: 30, klv: false })
  })

  it.each([
    'test://other',
    'test://ball?width=15',
    'test://ball?width=641',
    'test://ball?fps=0',
    'test://ball?fps=1e2',
    'test://ball?height=99999',
    'test://ball?klv=2',
    'test://ball?nice=1',
  ])('refuses %s', (uri) => {
    expect(() => parseTestSource(parseAddress(uri))).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }))
  })
})

describe('checkSimple', () => {
  const check = (uri: string, allowFiles = false) => {
    const config: SimpleConfig = {
      id: 'x',
      mode: 'simple',
      on_demand: false,
      output: null,
      klv_config: { pass_klv: false, auto_extract_geolocation: false },
      ephemeral: false,
      source: { uri, latency_ms: 200 },
      encoding: null,
    }
    return checkSimple(config, DEFAULT_SETTINGS, { allowFiles })
  }

  it.each([
    'rtsp://no.such.host.invalid/x',
    'udp://239.1.1.1:5000',
    'srt://h:1',
    'rtmp://h/a/b',
    'http://h/a.m3u8',
    'http://h/x',
    'v4l2:///dev/video0?encoding=h264',
  ])('answers a line for %s without asking the source', async (uri) => {
    expect((await check(uri)).publishes).toBe(true)
  })

  it.each([
    ['file:///etc/passwd', /SVC_ALLOW_FILE_SOURCES/],
    ['test://nope', /test:\/\/smpte/],
    ['v4l2:///etc/passwd', /v4l2/],
    ['v4l2:///dev/video0?colour=1', /encoding/],
    ['v4l2:///dev/video0?encoding=raw', /[Ss]et encoding/],
    ['rtsp://h:99999/x', /port/],
    ['rtsp://a%0ab@h/x', /control character/],
  ])('refuses %s', async (uri, message) => {
    await expect(check(uri)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { issues: [{ path: 'source.uri', message: expect.stringMatching(message) }] },
    })
  })

  it('lets files through where they are allowed', async () => {
    expect((await check('file:///srv/a.mp4', true)).args.join(' ')).toContain('filesrc location=/srv/a.mp4')
  })
})
