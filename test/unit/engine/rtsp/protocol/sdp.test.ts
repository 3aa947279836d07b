import { describe, expect, it } from 'vitest'
import { attribute, fmtp, formatSdp, parseSdp, rtpmap, SdpError } from '../../../../../engine/rtsp/protocol/sdp.ts'
import { rounds } from '../../../../helpers/random.ts'
import { Random } from '../../../../helpers/rtsp/random-bytes.ts'

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
  it('list media, encodings and parameters', () => {
    const sdp = parseSdp(CAMERA)
    const [video, audio, klv] = sdp.media
    if (!video || !audio || !klv) throw new Error('Media are missing')
    expect([attribute(sdp, 'control'), attribute(video, 'control')]).toEqual(['*', 'trackID=1'])
    expect(rtpmap(video)?.encodingName).toBe('H264')
    expect(fmtp(video).get('sprop-parameter-sets')).toBe('Z0LA==,aM4=')
    expect(rtpmap(audio)?.encodingName).toBe('PCMA')
    expect(rtpmap(klv)?.encodingName).toBe('smpte336m')
  })

  it.each(['m=audio 0 RTP/AVP', 'm=audio -1 RTP/AVP 0', 'm=audio 123456 RTP/AVP 0', 'm='])(
    'go without a medium that they do not describe, and without its attributes: %s',
    (line) => {
      const audio = [line, 'a=control:audio', 'a=rtpmap:96 PCMA/8000']
      const video = ['m=video  0 RTP/AVP  96', 'a=rtpmap:96 H264/90000', 'a=control:video']
      for (const lines of [
        [...audio, ...video],
        [...video, ...audio],
      ]) {
        const sdp = parseSdp(['v=0', 'a=control:*', ...lines].join('\r\n'))
        expect([attribute(sdp, 'control'), sdp.media.map((media) => [attribute(media, 'control'), rtpmap(media)?.encodingName])]).toEqual([
          '*',
          [['video', 'H264']],
        ])
      }
    },
  )

  it('are parsed as they were formatted', () => {
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
    ['an invalid media line', 'v=0\r\nm=video\r\n'],
    ['HTML', '<html></html>'],
  ])('are rejected for %s', (_, text) => {
    expect(() => parseSdp(text)).toThrow(SdpError)
  })

  it('throw nothing but SdpError when malformed', () => {
    for (let seed = 1; seed <= rounds(200); seed += 1) {
      try {
        const sdp = parseSdp(new Random(seed).mutate(Buffer.from(CAMERA)).toString('latin1'))
        for (const media of sdp.media) expect(() => [rtpmap(media), fmtp(media)]).not.toThrow()
      } catch (error) {
        expect(error, `seed ${seed}`).toBeInstanceOf(SdpError)
      }
    }
  })
})
