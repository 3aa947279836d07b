import { describe, expect, it } from 'vitest'
import { parseAddress } from '../../../../engine/faults/address.ts'
import { tracksOf } from '../../../../engine/ingest/tracks.ts'
import { parseSdp } from '../../../../engine/rtsp/protocol/sdp.ts'

const address = parseAddress('rtsp://u:p@h/x')
const tracksFor = (reencode: boolean, ...lines: readonly string[]) =>
  tracksOf({ sdp: parseSdp(['v=0', ...lines].join('\r\n')), address }, { reencode, sound: { codec: 'copy' } })
const tracks = (...lines: readonly string[]) => tracksFor(false, ...lines)
const VIDEO = ['m=video 0 RTP/AVP 96', 'a=rtpmap:96 H264/90000', 'a=fmtp:96 packetization-mode=0;profile-level-id=42001e', 'a=control:t1']

describe('the tracks of a session description', () => {
  it('are the video, with what readers need to know, and the KLV', () => {
    const found = tracks(
      'm=audio 0 RTP/AVP 8',
      ...VIDEO,
      'a=framerate:25.0',
      'a=tool:secret',
      'm=application 0 RTP/AVP 99',
      'a=rtpmap:99 smtpe336m/90000',
      'a=control:t2',
    )
    expect(found.video).toMatchObject({ control: 't1', payload: 96, caps: { media: 'video', encodingName: 'H264', clockRate: 90000 } })
    expect(Object.fromEntries(found.video.caps.parameters)).toEqual({
      'packetization-mode': '1',
      'profile-level-id': '42001e',
      'a-framerate': '25.0',
      'timestamp-offset': '0',
    })
    expect(found.klv).toMatchObject({ control: 't2', payload: 99, caps: { encodingName: 'SMPTE336M', payload: 97, clockRate: 90000 } })
  })

  it('of a static payload type have its clock rate', () => {
    expect(tracks('m=video 0 RTP/AVP 26').video.caps).toMatchObject({ encodingName: 'JPEG', payload: 26, clockRate: 90000 })
  })

  it.each(['RTP/AVP/TCP', 'RTP/AVP/UDP', 'rtp/avp', 'RTP/AVPF'])('may be described as %s', (protocol) => {
    expect(tracks(...VIDEO.with(0, `m=video 0 ${protocol} 96`)).video.payload).toBe(96)
  })

  it('drop parameters that would be other lines in our description', () => {
    const found = tracks('m=video 0 RTP/AVP 96', 'a=rtpmap:96 VP8/90000', 'a=fmtp:96 a-control=*;x-y=z;good=1;b ad=2')
    expect([...found.video.caps.parameters.keys()]).toEqual(['good', 'timestamp-offset'])
  })

  it.each([
    ['encryption', VIDEO.with(0, 'm=video 0 RTP/SAVP 96'), /^rtsp:\/\/h\/x encrypts its RTP/],
    ['interleaved NAL units', VIDEO.with(2, 'a=fmtp:96 packetization-mode=2'), /Set encoding/],
    ['decoding order numbers', ['m=video 0 RTP/AVP 96', 'a=rtpmap:96 H265/90000', 'a=fmtp:96 sprop-max-don-diff=2'], /Set encoding/],
    ['no clock', VIDEO.with(1, 'a=rtpmap:96 H264/0'), /clock rate/],
  ])('cannot be read with %s', (_what, lines, says) => {
    expect(() => tracks(...lines)).toThrow(says)
  })

  it('may have NAL units out of order when a decoder puts them in order', () => {
    expect(tracksFor(true, ...VIDEO.with(2, 'a=fmtp:96 packetization-mode=2')).video.caps.encodingName).toBe('H264')
  })

  it('have no KLV beside MPEG-TS, which has its own', () => {
    expect(tracks('m=video 0 RTP/AVP 33', 'm=application 0 RTP/AVP 99', 'a=rtpmap:99 SMPTE336M/90000').klv).toBeUndefined()
  })

  it('have no KLV that is encrypted', () => {
    expect(tracks(...VIDEO, 'm=application 0 RTP/SAVP 99', 'a=rtpmap:99 SMPTE336M/90000')).toMatchObject({ klv: undefined })
  })
})
