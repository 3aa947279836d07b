import { describe, expect, it } from 'vitest'
import { parseAddress } from '../../../../engine/faults/address.ts'
import { parseSdp } from '../../../../engine/rtsp/protocol/sdp.ts'
import { factsOfSdp } from '../../../../engine/sources/sdp-facts.ts'

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
      'ONVIF metadata, which is not KLV',
      sdp(...video, 'm=application 0 RTP/AVP 107', 'a=rtpmap:107 vnd.onvif.metadata/90000'),
      { klv: false },
    ],
    ['a frame rate', sdp(...video, 'a=framerate:12.5'), { frameRate: 12.5 }],
    ['a transport', sdp('m=video 0 RTP/AVP/TCP 96', 'a=rtpmap:96 H264/90000'), { video: 'H264' }],
    ['an impossible frame rate', sdp(...video, 'a=framerate:90000'), { frameRate: null }],
    ['audio before video', sdp('m=audio 0 RTP/AVP 0', ...video), { video: 'H264' }],
  ] as const)('reads %s', (_what, description, expected) => {
    expect(factsOfSdp(description, address)).toMatchObject({ paced: false, ...expected })
  })

  it('rejects a source without video and shows no credentials', () => {
    expect(() => factsOfSdp(sdp('m=audio 0 RTP/AVP 0'), address)).toThrow(/^rtsp:\/\/h\/x has no video \(only audio\)\.$/)
  })

  it('rejects video of which the description does not say what it is, and does not say that there is none', () => {
    const unnamed = () => factsOfSdp(sdp('m=audio 0 RTP/AVP 0', 'm=video 0 RTP/AVP 96'), address)
    expect(unnamed).toThrow(/^rtsp:\/\/h\/x does not say how its video is encoded/)
  })
})
