import { describe, expect, it } from 'vitest'
import {
  attribute,
  controlBase,
  fmtp,
  formatSdp,
  parseSdp,
  resolveControl,
  rtpmap,
  SdpError,
} from '../../../../../engine/rtsp/protocol/sdp.ts'
import { Random } from '../../../../helpers/rtsp/random-requests.ts'

const CAMERA = `v=0
o=- 1 1 IN IP4 10.0.0.5
s=Camera
c=IN IP4 0.0.0.0
a=control:*
m=video 0 RTP/AVP 96
a=rtpmap:96 H264/90000
a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LA==,aM4=;profile-level-id=42C015
a=control:trackID=1
m=audio 0 RTP/AVP 8
a=control:trackID=2
m=application 0 RTP/AVP 97
c=IN IP4 239.0.0.1
a=rtpmap:97 smpte336m/90000
`.replaceAll('\n', '\r\n')

describe('session descriptions', () => {
  it('tell media, formats, clock rates and parameters', () => {
    const sdp = parseSdp(CAMERA)
    const [video, audio, klv] = sdp.media
    if (!video || !audio || !klv) throw new Error('Media are missing')
    expect([sdp.name, attribute(sdp, 'control'), attribute(video, 'control')]).toEqual(['Camera', '*', 'trackID=1'])
    expect(rtpmap(video)).toEqual({ payload: 96, encodingName: 'H264', clockRate: 90000, parameters: undefined })
    expect(fmtp(video).get('sprop-parameter-sets')).toBe('Z0LA==,aM4=')
    expect(rtpmap(audio)?.encodingName).toBe('PCMA')
    expect([rtpmap(klv)?.encodingName, klv.connection, video.connection]).toEqual(['smpte336m', 'IN IP4 239.0.0.1', 'IN IP4 0.0.0.0'])
  })

  it('are read back as they were written', () => {
    const text = formatSdp({
      sessionId: '7',
      host: '::1',
      name: 'cam\r\na=evil',
      attributes: [{ name: 'control', value: '*' }],
      media: [{ type: 'video', port: 0, protocol: 'RTP/AVP', formats: ['96'], attributes: [{ name: 'recvonly', value: '' }] }],
    })
    expect(text).toContain('o=- 7 1 IN IP6 ::1\r\n')
    const sdp = parseSdp(text)
    expect(sdp.attributes).toEqual([{ name: 'control', value: '*' }])
    expect(sdp.media[0]?.attributes).toEqual([{ name: 'recvonly', value: '' }])
  })

  it.each([
    ['too much text', 'v=0\r\n'.repeat(60_000)],
    ['too many media', `v=0\r\n${'m=video 0 RTP/AVP 96\r\n'.repeat(100)}`],
    ['a media line that cannot be read', 'v=0\r\nm=video\r\n'],
    ['no description at all', '<html></html>'],
  ])('are refused for %s', (_, text) => {
    expect(() => parseSdp(text)).toThrow(SdpError)
  })

  it('that are broken give an answer or an SdpError, nothing else', () => {
    for (let seed = 1; seed <= 2000; seed += 1) {
      try {
        const sdp = parseSdp(new Random(seed).mutate(Buffer.from(CAMERA)).toString('latin1'))
        for (const media of sdp.media) expect(() => [rtpmap(media), fmtp(media)]).not.toThrow()
      } catch (error) {
        expect(error, `seed ${seed}`).toBeInstanceOf(SdpError)
      }
    }
  })
})

describe('control URLs', () => {
  it.each([
    ['rtsp://h/cam/', 'trackID=1', 'rtsp://h/cam/trackID=1'],
    ['rtsp://h/cam', 'trackID=1', 'rtsp://h/cam/trackID=1'],
    ['rtsp://h/cam?x=1', 'trackID=1', 'rtsp://h/cam?x=1/trackID=1'],
    ['rtsp://h/cam', 'rtsp://other/1', 'rtsp://other/1'],
    ['rtsp://h:554/cam/a', '/b', 'rtsp://h:554/b'],
    ['rtsp://h/cam', '*', 'rtsp://h/cam'],
    ['rtsp://h/cam', undefined, 'rtsp://h/cam'],
  ])('of %s with %s are %s', (base, control, url) => {
    expect(resolveControl(base, control)).toBe(url)
  })

  it('hang on Content-Base first, then Content-Location, then the request', () => {
    const headers = (values: Record<string, string>) => ({ get: (name: string) => values[name] })
    expect(controlBase(headers({ 'content-base': 'a', 'content-location': 'b' }), 'c')).toBe('a')
    expect(controlBase(headers({ 'content-location': 'b' }), 'c')).toBe('b')
    expect(controlBase(headers({}), 'c')).toBe('c')
  })
})
