/** Hostile sources, each of which sends as much as it can: floods.ts NAME. Prints its address. */
import { createSocket } from 'node:dgram'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { formatInterleaved } from '../../../engine/rtsp/protocol/interleaved.ts'
import { rtpPacket } from '../rtsp/packets.ts'
import { serveRtsp } from './rtsp-sender.ts'
import { KLV_PID, pes, tables, transportPacket, VIDEO_PID } from './transport-packets.ts'

const KEY = Buffer.from('6588', 'hex')
const times = (count: number, of: (at: number) => Buffer): Buffer => Buffer.concat(Array.from({ length: count }, (_, at) => of(at)))

/** Writes the bytes again and again, as fast as they are read. */
const pour = (out: Writable, bytes: () => Buffer): void => {
  const write = (): void => {
    while (!out.destroyed && out.write(bytes())) {
      // Until it is full.
    }
  }
  out.on('error', () => {})
  out.on('drain', write)
  write()
}

const always = (bytes: Buffer) => (): Buffer => bytes

/** Over RTSP: sequence numbers go round in whole cycles. */
const rtsp = (bytes: () => () => Buffer) => (): Promise<string> => serveRtsp((socket: Socket) => pour(socket, bytes()))

const frames = (count: number, frame: (at: number) => Buffer) => (): (() => Buffer) => always(times(count, frame))

const video = (at: number, payload: Buffer, { marker = true, ticks = 90 } = {}): Buffer =>
  formatInterleaved(0, rtpPacket({ sequence: at, timestamp: at * ticks, marker, payload }))

const http = (type: string, head: Buffer, bytes: () => () => Buffer) => (): Promise<string> =>
  new Promise((resolve) => {
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': type }).write(head)
      pour(response, bytes())
    })
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/live`))
  })

const transport = (bytes: () => () => Buffer) => http('video/mp2t', tables(), bytes)

/** Counters go round in 16. */
const packets = (count: number, packet: (at: number) => Buffer) => (): (() => Buffer) => always(times(count, packet))

const onePicture = (at: number): Buffer =>
  transportPacket(VIDEO_PID, {
    counter: at,
    payload: pes(0xe0, at * 90, Buffer.from('0000000165880000000141', 'hex')),
    starts: true,
    stuffed: 'field',
  })
const oneKlv = (at: number): Buffer =>
  transportPacket(KLV_PID, { counter: at, payload: pes(0xfc, at * 90, Buffer.alloc(20, 1)), starts: true, stuffed: 'field' })
/** A picture without a length that is as large as can be, of NAL units as small as can be. */
const largePicture = (): (() => Buffer) => {
  const starts = Buffer.from('00000165', 'hex')
  const rest = transportPacket(VIDEO_PID, { counter: 0, payload: Buffer.alloc(184, starts), starts: false, stuffed: 'field' })
  return always(
    times(65_536, (at) => {
      const packet =
        at === 0
          ? transportPacket(VIDEO_PID, { counter: 0, payload: pes(0xe0, 0, Buffer.alloc(170, starts), 0), starts: true, stuffed: 'field' })
          : Buffer.from(rest)
      packet[3] = ((packet[3] ?? 0) & 0xf0) | (at & 15)
      return packet
    }),
  )
}

const flvTag = (type: number, ms: number, body: Buffer): Buffer => {
  const head = Buffer.alloc(11)
  head[0] = type
  head.writeUIntBE(body.length, 1, 3)
  head.writeUIntBE(ms & 0xffffff, 4, 3)
  const size = Buffer.alloc(4)
  size.writeUInt32BE(11 + body.length)
  return Buffer.concat([head, body, size])
}
const FLV = Buffer.from('464c5601010000000900000000', 'hex')
/** The decoder configuration record, behind the header of a video tag. */
const AVC = Buffer.from('17000000000142000affe1000a6742000a96354281d80001000468ce06e2', 'hex')

/** A live playlist that is another one each time, and its segments. */
const hls = (playlist: (number: number) => string, segment: Buffer) => (): Promise<string> =>
  new Promise((resolve) => {
    let number = 0
    const server = createServer(({ url = '' }, response) => {
      if (url.endsWith('.ts')) return response.end(segment)
      number += 1
      return response.writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' }).end(playlist(number))
    })
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/live.m3u8`))
  })

const udp = (datagram: Buffer) => async (): Promise<string> => {
  const probe = createSocket('udp4')
  await new Promise<void>((resolve) => probe.bind(0, '127.0.0.1', resolve))
  const { port } = probe.address()
  probe.close()
  const socket = createSocket('udp4')
  const send = (): void => {
    for (let at = 0; at < 500; at += 1) socket.send(datagram, port, '127.0.0.1')
    setImmediate(send)
  }
  send()
  return `udp://127.0.0.1:${port}`
}

export const FLOODS: Readonly<Record<string, () => Promise<string>>> = {
  'rtsp-pictures': rtsp(frames(65_536, (at) => video(at, KEY))),
  'rtsp-one-endless-picture': rtsp(frames(65_536, (at) => video(at, KEY, { marker: false, ticks: 0 }))),
  'rtsp-empty-frames': rtsp(frames(65_536, () => Buffer.from('$\0\0\0'))),
  'rtsp-reports': rtsp(
    frames(1000, () => formatInterleaved(1, Buffer.from('80c80006112233440000000000000000000000000000000000000000', 'hex'))),
  ),
  'rtsp-requests': rtsp(frames(1000, () => Buffer.from('OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n'))),
  'rtsp-large-pictures': rtsp(frames(256, (at) => video(at, Buffer.concat([KEY, Buffer.alloc(65_000)]), { ticks: 3000 }))),
  'rtsp-aggregates': rtsp(
    frames(256, (at) =>
      video(at, Buffer.concat([Buffer.from([0x78]), times(21_000, () => Buffer.from('000165', 'hex'))]), { ticks: 3000 }),
    ),
  ),
  'rtsp-aggregates-of-one-picture': rtsp(
    frames(256, (at) =>
      video(at, Buffer.concat([Buffer.from([0x78]), times(21_000, () => Buffer.from('000165', 'hex'))]), {
        ticks: 0,
        marker: at % 32 === 31,
      }),
    ),
  ),
  'rtsp-start-codes': rtsp(
    frames(256, (at) => video(at, Buffer.concat([KEY, Buffer.alloc(65_000, Buffer.from('00000165', 'hex'))]), { ticks: 3000 })),
  ),
  'rtsp-parameter-sets': rtsp(
    frames(65_536, (at) => video(at, Buffer.concat([Buffer.from('6742000a96', 'hex'), Buffer.from([at >> 8, at & 255, 1])]), { ticks: 0 })),
  ),
  'ts-null': transport(
    packets(4096, (at) => transportPacket(0x1fff, { counter: at, payload: Buffer.alloc(184), starts: false, stuffed: 'field' })),
  ),
  'ts-tables': transport(packets(4096, (at) => tables(at, at))),
  'ts-pictures': transport(packets(65_536, onePicture)),
  'ts-klv': transport(packets(65_536, oneKlv)),
  'ts-large-pictures': transport(largePicture),
  'ts-sync-bytes': transport(() => always(Buffer.alloc(1 << 20, 0x47))),
  'ts-noise': transport(() => always(Buffer.alloc(1 << 20, 'GxG'))),
  'flv-tags': http('video/x-flv', Buffer.concat([FLV, flvTag(9, 0, AVC)]), () =>
    always(times(65_536, (at) => flvTag(9, at, Buffer.from('1701000000000000026588', 'hex')))),
  ),
  'flv-empty': http('video/x-flv', FLV, () => always(times(65_536, (at) => flvTag(18, at, Buffer.alloc(0))))),
  'hls-lines': hls(
    (number) =>
      [
        '#EXTM3U',
        '#EXT-X-TARGETDURATION:1',
        `#EXT-X-MEDIA-SEQUENCE:${number * 90_000}`,
        ...Array.from({ length: 90_000 }, (_, at) => `#EXTINF:1,\n${at}.ts`),
      ].join('\n'),
    tables(),
  ),
  'hls-large-segments': hls(
    (number) =>
      ['#EXTM3U', '#EXT-X-TARGETDURATION:1', `#EXT-X-MEDIA-SEQUENCE:${number}`, '#EXT-X-DISCONTINUITY', '#EXTINF:1,', 'a.ts'].join('\n'),
    Buffer.concat([tables(), times(330_000, onePicture)]),
  ),
  'udp-datagrams': udp(Buffer.concat([tables(), ...Array.from({ length: 5 }, (_, at) => onePicture(at))])),
  'udp-empty': udp(Buffer.alloc(0)),
}

if (process.argv[1] === import.meta.filename) {
  const open = FLOODS[process.argv[2] ?? '']
  if (open === undefined) throw new Error(`Use one of ${Object.keys(FLOODS).join(', ')}`)
  console.log(await open())
}
