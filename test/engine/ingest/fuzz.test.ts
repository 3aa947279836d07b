import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../../engine/faults/fault.ts'
import { playSource } from '../../helpers/media/play-source.ts'
import { rounds } from '../../helpers/random.ts'
import { KEY_SLICE, KLV_SDP, type OddClient, OTHER_SLICE, PPS, SPS, startOddServer, VIDEO_SDP } from '../../helpers/rtsp/odd-server.ts'
import { rtpPacket } from '../../helpers/rtsp/packets.ts'
import { Random } from '../../helpers/rtsp/random-bytes.ts'

const RUNS = rounds(40)
const MB = 1024 * 1024

const framed = (channel: number, payload: Buffer): Buffer => {
  const head = Buffer.from([0x24, channel, 0, 0])
  head.writeUInt16BE(Math.min(0xffff, payload.length), 2)
  return Buffer.concat([head, payload])
}

const answer = (lines: readonly string[], body = ''): Buffer =>
  Buffer.from(['RTSP/1.0 200 OK', ...lines, ...(body === '' ? [] : [`Content-Length: ${body.length}`]), '', body].join('\r\n'))

/** What a well-behaved server answers to its n-th request, damaged more or less. */
const hostileAnswer = (random: Random, n: number): Buffer => {
  const sdp = ['v=0', ...VIDEO_SDP, ...KLV_SDP, ''].join('\r\n')
  const usual = [
    answer([`CSeq: ${n}`, 'Content-Base: rtsp://h/x/'], sdp),
    answer([`CSeq: ${n}`, 'Session: a;timeout=1', 'Transport: RTP/AVP/TCP;interleaved=0-1']),
    answer([`CSeq: ${n}`, 'Session: a', 'Transport: RTP/AVP/TCP;interleaved=2-3']),
    answer([`CSeq: ${n}`, 'RTP-Info: url=track1;seq=1;rtptime=2,url=track2;rtptime=9']),
  ][Math.min(n - 1, 3)]
  const bytes = usual ?? Buffer.alloc(0)
  // The first answers have to be right for the rest of the conversation to be reached at all.
  return random.next() < (n === 1 ? 0.05 : 0.15) ? random.mutate(bytes) : bytes
}

const hostileMedia = (random: Random, n: number): Buffer => {
  const payload = [SPS, PPS, KEY_SLICE, OTHER_SLICE, random.bytes(random.integer(2000)), Buffer.alloc(0)][random.integer(6)] ?? SPS
  const packet = rtpPacket({
    sequence: n * random.integer(3),
    timestamp: n * 900 * random.integer(4),
    marker: random.next() < 0.5,
    payload,
  })
  const frame = framed(random.integer(5), random.next() < 0.2 ? random.mutate(packet) : packet)
  if (random.next() < 0.9) return frame
  const others = [
    random.mutate(frame),
    Buffer.from('OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n'),
    framed(1, Buffer.concat([Buffer.from('80c800060000000000000000', 'hex'), random.bytes(random.integer(60))])),
    Buffer.from([0x24, 0, 0xff, 0xff]),
    Buffer.from(`RTSP/1.0 ${random.integer(1000)} x\r\nContent-Length: ${random.integer(300_000)}\r\n\r\n`),
  ]
  return others[random.integer(others.length)] ?? frame
}

/** A server that ends the conversation after 200 pieces of media at the latest. */
const startHostileServer = async (random: Random): Promise<string> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    let requests = 0
    socket.on('data', () => {
      requests += 1
      socket.write(hostileAnswer(random, requests))
      if (requests !== 4) return
      for (let n = 0; n < 200; n += 1) for (const piece of random.pieces(hostileMedia(random, n), 1500)) socket.write(piece)
      socket.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `rtsp://127.0.0.1:${(server.address() as AddressInfo).port}/x`
}

it(
  'whatever a server sends, the run ends with a fault and keeps no memory',
  async () => {
    const ends = new Map<string, number>()
    const before = process.memoryUsage().rss
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const uri = await startHostileServer(new Random(seed))
      const options = { startTimeoutMs: 300, stallTimeoutMs: 200 }
      const end = await playSource(uri, options).then(
        (play) => play.ended,
        (error: unknown) => error,
      )
      expect(end, `seed ${seed}`).toBeInstanceOf(Fault)
      const { reason } = end as Fault
      ends.set(reason, (ends.get(reason) ?? 0) + 1)
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * MB)
    // Not all of them may fail at the first step.
    expect(ends.get('ended') ?? 0).toBeGreaterThan(RUNS / 10)
    expect(ends.get('source_error') ?? 0).toBeGreaterThan(0)
  },
  RUNS * 2_000,
)

/** Small packets of one picture that never ends, each with a frame beside it that belongs to no track. */
const sendEndless = async ({ socket, send }: OddClient, frames: number): Promise<void> => {
  const beside = framed(99, Buffer.alloc(64_000))
  for (let sequence = 0; sequence < frames && !socket.destroyed; sequence += 1) {
    send(0, rtpPacket({ sequence, timestamp: 9000, marker: false, payload: OTHER_SLICE.subarray(0, 4) }))
    await new Promise<void>((resolve) => socket.write(beside, () => resolve()))
  }
}

it('keeps little of what comes beside the small packets of a picture', async () => {
  const before = process.memoryUsage().arrayBuffers
  const sent = Promise.withResolvers<void>()
  const onPlay = (client: OddClient): void => void sendEndless(client, 8000).then(sent.resolve)
  const server = await startOddServer({ everyMs: 0, onPlay })
  const play = await playSource(server.url, { startTimeoutMs: 20_000, stallTimeoutMs: 20_000 })
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }, 10)
  onTestFinished(() => clearInterval(timer))
  await sent.promise
  await play.stop()
  expect(most).toBeLessThan(300 * MB)
})
