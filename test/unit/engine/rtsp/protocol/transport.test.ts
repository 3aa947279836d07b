import { describe, expect, it } from 'vitest'
import { parseTransport } from '../../../../../engine/rtsp/protocol/transport.ts'

describe('the Transport header', () => {
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
