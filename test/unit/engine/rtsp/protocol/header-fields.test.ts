import { describe, expect, it } from 'vitest'
import { parseMethods, parseRtpInfo, parseSession } from '../../../../../engine/rtsp/protocol/header-fields.ts'

describe('a header field', () => {
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

  it.each([undefined, '', ' ;timeout=3', ';'])('Session: %s is none', (header) => {
    expect(parseSession(header)).toBeUndefined()
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
