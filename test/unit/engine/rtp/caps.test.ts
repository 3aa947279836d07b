import { describe, expect, it } from 'vitest'
import { parseRtpCaps, sameFormat } from '../../../../engine/rtp/caps.ts'
import { rounds } from '../../../helpers/random.ts'
import { Random } from '../../../helpers/rtsp/random-bytes.ts'

// As gst-launch-1.0 -v of GStreamer 1.22 prints them.
const H264 =
  'application/x-rtp, media=(string)video, clock-rate=(int)90000, encoding-name=(string)H264, packetization-mode=(string)1, sprop-parameter-sets=(string)"Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA\\=\\=\\,aMuMsg\\=\\=", profile-level-id=(string)42c015, profile=(string)constrained-baseline, payload=(int)96, seqnum-offset=(uint)0, timestamp-offset=(uint)0, ssrc=(uint)4176608405, a-framerate=(string)30'
const OPUS =
  'application/x-rtp, media=(string)audio, clock-rate=(int)48000, encoding-name=(string)OPUS, sprop-stereo=(string)0, encoding-params=(string)2, payload=(int)97'

describe('RTP caps', () => {
  it('state media, encoding, payload type and clock rate; every other field is a parameter', () => {
    const caps = parseRtpCaps(H264)
    expect(caps).toMatchObject({ media: 'video', encodingName: 'H264', payload: 96, clockRate: 90000 })
    expect(caps?.parameters.get('timestamp-offset')).toBe('0')
  })

  it.each([
    ['other caps', 'video/x-h264, stream-format=(string)avc'],
    ['RTP framed for a byte stream', 'application/x-rtp-stream, media=(string)video, clock-rate=(int)90000, encoding-name=(string)H264'],
    [
      'no clock rate, as rtpmp4vpay announces first',
      'application/x-rtp, media=(string)video, payload=(int)96, encoding-name=(string)MP4V-ES',
    ],
    ['a payload type out of range', 'application/x-rtp, media=(string)video, clock-rate=(int)1, encoding-name=(string)A, payload=(int)200'],
    ['an unclosed quote', 'application/x-rtp, media=(string)"video'],
    ['an empty text', ''],
  ])('are undefined for %s', (_, text) => {
    expect(parseRtpCaps(text)).toBeUndefined()
  })

  it('may omit the clock rate of a static payload type', () => {
    expect(parseRtpCaps('application/x-rtp, media=(string)video, payload=(int)26, encoding-name=(string)JPEG')?.clockRate).toBe(90000)
  })

  it('never throw when they are malformed', () => {
    for (let seed = 1; seed <= rounds(300); seed += 1) {
      const text = new Random(seed).mutate(Buffer.from(H264)).toString('latin1')
      expect(() => parseRtpCaps(text), `seed ${seed}`).not.toThrow()
    }
  })

  it('are the same format when only parameter sets differ', () => {
    const [one, other, opus] = [parseRtpCaps(H264), parseRtpCaps(H264.replace('42c015', '640028')), parseRtpCaps(OPUS)]
    if (!one || !other || !opus) throw new Error('caps expected')
    expect([sameFormat(one, other), sameFormat(one, opus)]).toEqual([true, false])
  })
})
