import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { formatRequest, formatResponse, type HeaderFields } from '../../../engine/rtsp/protocol/format-message.ts'
import { formatInterleaved } from '../../../engine/rtsp/protocol/interleaved.ts'
import type { RtspRequest } from '../../../engine/rtsp/protocol/message.ts'
import { MessageParser } from '../../../engine/rtsp/protocol/message-parser.ts'
import { rtpPacket } from './packets.ts'

export const SPS = Buffer.from('67640015acd941e08feb0110000003001000000303c0f162d960', 'hex')
export const PPS = Buffer.from('68ebe3cb22c0', 'hex')
export const KEY_SLICE = Buffer.concat([Buffer.from('6588', 'hex'), Buffer.alloc(200, 0x5a)])
export const OTHER_SLICE = Buffer.concat([Buffer.from('419a', 'hex'), Buffer.alloc(100, 0xa5)])

export const VIDEO_SDP = [
  'm=video 0 RTP/AVP 96',
  'a=rtpmap:96 H264/90000',
  `a=fmtp:96 packetization-mode=1;sprop-parameter-sets=${SPS.toString('base64')},${PPS.toString('base64')}`,
  'a=control:track1',
]
export const KLV_SDP = ['m=application 0 RTP/AVP 97', 'a=rtpmap:97 SMPTE336M/90000', 'a=control:track2']
const SDP_HEAD = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=odd', 't=0 0']

export interface Answer {
  status: number
  headers: Record<string, string | undefined>
  body: string
}

/** One client of the server. */
export interface OddClient {
  readonly socket: Socket
  send(channel: number, packet: Buffer): void
  request(method: string): void
  /** Stops the frames. */
  pause(): void
}

/** What a server does in another way than usual. */
export interface Oddities {
  readonly sdp?: readonly string[]
  /** Changes the answer to a request; false: there is none. */
  readonly answer?: (request: RtspRequest, answer: Answer, client: OddClient) => undefined | boolean | Promise<undefined | boolean>
  /** Interleaved channel of the video; its RTCP has the next one. */
  readonly channel?: number
  /** The payloads of the packets of picture `n`; the marker is on the last. */
  readonly picture?: (n: number) => readonly Buffer[]
  /** Between two pictures, milliseconds; 0: none are sent. */
  readonly everyMs?: number
  readonly payloadType?: number
  /** The SSRC of picture `n`. */
  readonly ssrc?: (n: number) => number
  /** Written after every picture. */
  readonly stray?: Buffer
  /** After so many pictures the times go back by some of them, and a packet is missing, as after a flush of gst-rtsp-server. */
  readonly restartEvery?: number
  readonly onPlay?: (client: OddClient) => void
}

export interface OddServer {
  readonly url: string
  readonly port: number
  readonly requests: readonly RtspRequest[]
  /** RTCP that came, with its channel. */
  readonly reports: readonly { readonly channel: number; readonly payload: Buffer }[]
  readonly clients: readonly OddClient[]
  close(): Promise<void>
}

const usualPicture = (n: number): readonly Buffer[] => (n % 10 === 0 ? [SPS, PPS, KEY_SLICE] : [OTHER_SLICE])

/** A small RTSP server that sends made-up H.264 inside the connection, until the test is over. */
export const startOddServer = async (odd: Oddities = {}, port = 0): Promise<OddServer> => {
  const requests: RtspRequest[] = []
  const reports: { channel: number; payload: Buffer }[] = []
  const clients: OddClient[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let timer: NodeJS.Timeout | undefined
    const client: OddClient = {
      socket,
      send: (channel, packet) => socket.write(formatInterleaved(channel, packet)),
      request: (method) => socket.write(formatRequest(method, '*', { CSeq: 77 })),
      pause: () => clearInterval(timer),
    }
    clients.push(client)
    const play = (): void => {
      odd.onPlay?.(client)
      let [sequence, n, back] = [1000, 0, 0]
      const { everyMs = 20 } = odd
      if (everyMs === 0) return
      timer = setInterval(() => {
        const payloads = (odd.picture ?? usualPicture)(n)
        for (const [at, payload] of payloads.entries()) {
          const packet = rtpPacket({
            sequence: sequence++,
            timestamp: 50_000 + (n - back) * 1800,
            marker: at === payloads.length - 1,
            payload,
          })
          if (odd.payloadType !== undefined) packet[1] = ((packet[1] ?? 0) & 0x80) | odd.payloadType
          if (odd.ssrc !== undefined) packet.writeUInt32BE(odd.ssrc(n), 8)
          client.send(odd.channel ?? 0, packet)
        }
        if (odd.stray !== undefined) socket.write(odd.stray)
        n += 1
        if (n % (odd.restartEvery ?? Number.POSITIVE_INFINITY) !== 0) return
        back += 4
        sequence += 1
      }, everyMs)
    }
    const answer = async (request: RtspRequest): Promise<void> => {
      requests.push(request)
      const result = usualAnswer(request, odd)
      if ((await odd.answer?.(request, result, client)) === false) return
      socket.write(formatResponse(result.status, { CSeq: request.headers.get('cseq'), ...result.headers } as HeaderFields, result.body))
      if (request.method === 'PLAY' && result.status === 200) play()
    }
    const parser = new MessageParser()
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(timer)
      sockets.delete(socket)
    })
    socket.on('data', (chunk: Buffer) => {
      for (const message of parser.push(chunk)) {
        if (message.kind === 'interleaved') reports.push({ channel: message.channel, payload: message.payload })
        else if (message.kind === 'request') void answer(message)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  onTestFinished(close)
  const bound = (server.address() as AddressInfo).port
  return { url: `rtsp://127.0.0.1:${bound}/odd`, port: bound, requests, reports, clients, close }
}

const usualAnswer = (request: RtspRequest, odd: Oddities): Answer => {
  const headers: Record<string, string | undefined> = { Server: 'odd' }
  if (request.method === 'OPTIONS')
    return { status: 200, headers: { ...headers, Public: 'OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN' }, body: '' }
  if (request.method === 'DESCRIBE') {
    const body = [...SDP_HEAD, ...(odd.sdp ?? VIDEO_SDP), ''].join('\r\n')
    return { status: 200, headers: { ...headers, 'Content-Type': 'application/sdp' }, body }
  }
  if (request.method !== 'SETUP') return { status: 200, headers: { ...headers, Session: 's1' }, body: '' }
  const channel = odd.channel
  const asked = request.headers.get('transport') ?? ''
  const transport = channel === undefined ? asked : asked.replace(/interleaved=\S+/, `interleaved=${channel}-${channel + 1}`)
  return { status: 200, headers: { ...headers, Session: 's1;timeout=60', Transport: transport }, body: '' }
}
