import { type AddressInfo, createServer, type Socket } from 'node:net'
import { formatResponse, type HeaderFields } from '../../../engine/rtsp/protocol/format-message.ts'
import { MessageParser } from '../../../engine/rtsp/protocol/message-parser.ts'

/** Real ones, of 160×120. */
const SPS = 'Z0IACpY1QoHYAA=='
const PPS = 'aM4G4g=='
const SDP = [
  ...['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0', 'm=video 0 RTP/AVP 96', 'a=rtpmap:96 H264/90000'],
  ...[`a=fmtp:96 packetization-mode=1;sprop-parameter-sets=${SPS},${PPS}`, 'a=control:track1', ''],
].join('\r\n')

/** An RTSP server over TCP that calls back with the socket of each client that plays. Returns its address. */
export const serveRtsp = (onPlay: (socket: Socket) => void): Promise<string> =>
  new Promise((resolve) => {
    const server = createServer((socket) => {
      const parser = new MessageParser()
      socket.on('error', () => {})
      socket.on('data', (chunk: Buffer) => {
        for (const message of parser.push(chunk)) {
          if (message.kind !== 'request') continue
          const { method, headers } = message
          const more: HeaderFields =
            method === 'DESCRIBE'
              ? { 'Content-Type': 'application/sdp' }
              : { Session: '1', ...(method === 'SETUP' && { Transport: headers.get('transport') ?? '' }) }
          socket.write(formatResponse(200, { CSeq: headers.get('cseq'), ...more }, method === 'DESCRIBE' ? SDP : ''))
          if (method === 'PLAY') onPlay(socket)
        }
      })
    })
    server.listen(0, '127.0.0.1', () => resolve(`rtsp://127.0.0.1:${(server.address() as AddressInfo).port}/`))
  })
