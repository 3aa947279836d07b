import { describe, expect, it } from 'vitest'
import { parseRtpCaps } from '../../../../../engine/rtp/caps.ts'
import { capsToSdpAttributes } from '../../../../../engine/rtsp/publisher/mount-sdp.ts'
import { rounds } from '../../../../helpers/random.ts'
import { Random } from '../../../../helpers/rtsp/random-bytes.ts'

// As gst-launch-1.0 -v of GStreamer 1.22 prints them.
const H264 =
  'application/x-rtp, media=(string)video, clock-rate=(int)90000, encoding-name=(string)H264, packetization-mode=(string)1, sprop-parameter-sets=(string)"Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA\\=\\=\\,aMuMsg\\=\\=", profile-level-id=(string)42c015, profile=(string)constrained-baseline, payload=(int)96, seqnum-offset=(uint)0, timestamp-offset=(uint)0, ssrc=(uint)4176608405, a-framerate=(string)30'
const H265 =
  'application/x-rtp, media=(string)video, clock-rate=(int)90000, encoding-name=(string)H265, sprop-vps=(string)"QAEMAf//BAgAAAMAnggAAAMAAD+SgJA\\=", sprop-sps=(string)QgEBBAgAAAMAnggAAAMAAD+QAUEB4sslSSZX/4AAgAC1BgYGBAAAAwAEAAADAHgg, sprop-pps=(string)"RAHBcoYMRiQ\\=", payload=(int)96, ssrc=(uint)2150748722'
const OPUS =
  'application/x-rtp, media=(string)audio, clock-rate=(int)48000, encoding-name=(string)OPUS, sprop-stereo=(string)0, encoding-params=(string)2, payload=(int)97'

const sdpOf = (text: string) => {
  const caps = parseRtpCaps(text)
  return caps && capsToSdpAttributes(caps).map(({ name, value }) => `${name}:${value}`)
}

describe('the SDP attributes of a stream', () => {
  it('of H.264 are rtpmap, fmtp and frame rate, without the fields of the pad', () => {
    expect(sdpOf(H264)).toEqual([
      'rtpmap:96 H264/90000',
      'fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA==,aMuMsg==;profile-level-id=42c015',
      'framerate:30',
    ])
  })

  it('of H.265 and Opus are rtpmap and fmtp', () => {
    expect(sdpOf(H265)?.[1]).toMatch(/^fmtp:96 sprop-vps=QAEMAf\/\/BAgAAAMAnggAAAMAAD\+SgJA=;sprop-sps=\S+;sprop-pps=RAHBcoYMRiQ=$/)
    expect(sdpOf(OPUS)).toEqual(['rtpmap:97 OPUS/48000/2', 'fmtp:97 sprop-stereo=0'])
  })

  it('never throw for malformed caps', () => {
    for (let seed = 1; seed <= rounds(300); seed += 1) {
      const text = new Random(seed).mutate(Buffer.from(H264)).toString('latin1')
      expect(() => sdpOf(text), `seed ${seed}`).not.toThrow()
    }
  })
})
