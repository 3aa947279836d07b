import { describe, expect, it } from 'vitest'
import { parseChannels, parseTransport } from '../../../../../engine/rtsp/protocol/transport.ts'

describe('the Transport field of a request', () => {
  it.each([
    ['RTP/AVP/TCP;unicast;interleaved=0-1', { kind: 'interleaved', channel: 0 }],
    ['RTP/AVP/TCP;unicast', { kind: 'interleaved', channel: undefined }],
    ['RTP/AVP;unicast;client_port=5000-5001', { kind: 'udp', rtpPort: 5000, rtcpPort: 5001 }],
    ['RTP/AVP/UDP;unicast;client_port=5000', { kind: 'udp', rtpPort: 5000, rtcpPort: 5001 }],
    ['RTP/AVP;unicast;destination=8.8.8.8;client_port=5000-5001', { kind: 'udp', rtpPort: 5000, rtcpPort: 5001 }],
    ['RTP/AVP;multicast,RTP/AVP/TCP;interleaved=4-5', { kind: 'interleaved', channel: 4 }],
    ['RTP/AVP;multicast', undefined],
    ['RTP/SAVP;unicast;client_port=5000-5001', undefined],
    ['RTP/AVP;unicast;client_port=53-54', undefined],
    ['RTP/AVP;unicast;client_port=5000-53', undefined],
    ['RTP/AVP;unicast;client_port=65535', undefined],
    ['RTP/AVP/TCP;interleaved=254-256', undefined],
    ['RTP/AVP;unicast;client_port=5000-5001;mode=RECORD', undefined],
    ['RTP/AVP/TCP;interleaved=300-301', undefined],
    ['RTP/AVP;unicast;client_port=99999-100000', undefined],
    ['RTP/AVP;unicast', undefined],
    ['', undefined],
  ])('%s', (header, expected) => {
    expect(parseTransport(header)).toEqual(expected)
  })
})

describe('the Transport field of a response', () => {
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
  ])('%s', (header, channels) => {
    expect(parseChannels(header, asked)).toEqual(channels)
  })
})
