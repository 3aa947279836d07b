import { describe, expect, it } from 'vitest'
import { baseUrl, controlUrl } from '../../../../../engine/rtsp/client/control-url.ts'
import { parseChannels, parseMethods, parseRtpInfo, parseSession } from '../../../../../engine/rtsp/client/response-headers.ts'

describe('the URL of a track', () => {
  it.each([
    ['rtsp://h/x', 'track1', 'rtsp://h/x/track1'],
    ['rtsp://h/x/', 'track1', 'rtsp://h/x/track1'],
    ['rtsp://h/x', '/track1', 'rtsp://h/x/track1'],
    ['rtsp://h/x?a=b', 'track1', 'rtsp://h/x?a=b/track1'],
    ['rtsp://h/x', 'rtsp://other/y/track1', 'rtsp://other/y/track1'],
    ['rtsp://h/x', 'RTSPS://other/y', 'RTSPS://other/y'],
    ['rtsp://h/x', '*', 'rtsp://h/x'],
    ['rtsp://h/x', '', 'rtsp://h/x'],
    ['rtsp://h/x', undefined, 'rtsp://h/x'],
  ])('of %s and %s is %s', (base, control, url) => {
    expect(controlUrl(base, control)).toBe(url)
  })

  it.each([
    ['rtsp://other/x/', 'rtsp://other/x/'],
    ['/x/', 'rtsp://h/x'],
    ['', 'rtsp://h/x'],
    ['http://h/x', 'rtsp://h/x'],
  ])('has the base %s only if that is an address', (given, base) => {
    expect(baseUrl(given, 'rtsp://h/x')).toBe(base)
  })
})

describe('the headers of a response', () => {
  it.each([
    ['abc', 'abc', 60],
    [' abc;timeout=30', 'abc', 30],
    ['abc ; timeout = 5', 'abc', 5],
    ['abc;timeout=0', 'abc', 60],
    ['abc;timeout=99999999', 'abc', 60],
    ['abc;Timeout=7;x=y', 'abc', 7],
  ])('Session: %s', (header, id, timeoutSeconds) => {
    expect(parseSession(header)).toEqual({ id, timeoutSeconds })
  })

  it.each([undefined, '', ' ;timeout=3', 'x'.repeat(0)])('Session: %s is none', (header) => {
    expect(parseSession(header)).toBeUndefined()
  })

  const asked = { rtp: 2, rtcp: 3 }
  it.each([
    ['RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=1', { rtp: 0, rtcp: 1 }],
    ['RTP/AVP;unicast;interleaved=8-9', { rtp: 8, rtcp: 9 }],
    ['RTP/AVP/TCP;unicast;interleaved=4', { rtp: 4, rtcp: undefined }],
    ['RTP/AVP/TCP;unicast;interleaved=4-4', { rtp: 4, rtcp: undefined }],
    ['RTP/AVP/TCP;interleaved=0-1,RTP/AVP;client_port=1-2', { rtp: 0, rtcp: 1 }],
    ['RTP/AVP/TCP;unicast;interleaved=999-1000', asked],
    ['RTP/AVP/TCP;unicast', asked],
    ['', asked],
    [undefined, asked],
    ['RTP/AVP;unicast;client_port=5000-5001', undefined],
    ['RTP/AVP/UDP;multicast', undefined],
  ])('Transport: %s', (header, channels) => {
    expect(parseChannels(header, asked)).toEqual(channels)
  })

  it.each([
    ['url=rtsp://h/x/track1;seq=1;rtptime=7', [{ url: 'rtsp://h/x/track1', timestamp: 7 }]],
    [
      'url="rtsp://h/a,b";rtptime=7, url=track2;rtptime=4294967295;seq=2',
      [
        { url: 'rtsp://h/a,b', timestamp: 7 },
        { url: 'track2', timestamp: 4294967295 },
      ],
    ],
    ['url=a;seq=1', []],
    ['url=a;rtptime=4294967296', []],
    ['nonsense', []],
    ['', []],
    [undefined, []],
  ])('RTP-Info: %s', (header, starts) => {
    expect(parseRtpInfo(header)).toEqual(starts)
  })

  it('Public: names in any case', () => {
    expect([...parseMethods('OPTIONS, get_parameter,')]).toEqual(['OPTIONS', 'GET_PARAMETER', ''])
  })
})
