import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, type ExpectStatic, expect, it, onTestFinished } from 'vitest'
import type { Fault } from '../../../engine/faults/fault.ts'
import { classifyEnd } from '../../../engine/gst/bus-errors.ts'
import { runToEnd, startChild } from '../../../engine/gst/child.ts'
import { type GdpBuffer, GdpReader } from '../../../engine/gst/gdp.ts'
import type { Launch } from '../../../engine/launch/launch.ts'
import { KlvDemuxer } from '../../../engine/mpegts/klv-demuxer.ts'
import { payloadOf } from '../../../engine/rtp/packet/packet.ts'
import { flightPacket } from '../../../lib/st0601/synthetic-flight.ts'
import { toHex } from '../../fixtures/klv/hex.ts'
import { startTsKlvSender } from '../../helpers/klv/ts-sender.ts'
import { H264, PICTURES, plan } from '../../helpers/media/play-launch.ts'
import { playSource } from '../../helpers/media/play-source.ts'
import { asH265, startRtmpServer } from '../../helpers/media/rtmp-server.ts'

/** More than the preroll of a busy host, and less than the stall timeout. */
const AT_ONCE_MS = 4000

interface End {
  readonly fault: Fault
  /** From the last video to the end of the child; more than the patience when it had to be killed. */
  readonly afterMs: number
  /** Payloads of the packets on each media pipe. */
  readonly payloads: readonly (readonly Buffer[])[]
  readonly lastedMs: number
}

/** Runs a line until it ends by itself, or until no video has come for AT_ONCE_MS. */
const runUntilEnd = async (launch: Launch): Promise<End> => {
  const child = startChild('gst-launch-1.0', ['-v', ...launch.args], { mediaPipes: launch.streams.length, reach: launch.reach })
  const began = performance.now()
  let lastVideo: number | undefined
  let stderr = ''
  child.stdout.resume()
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const payloads = child.media.map((pipe, index) => {
    const packets: Buffer[] = []
    const onBuffer = ({ payload: packet }: GdpBuffer): void => {
      const range = payloadOf(packet)
      if (range !== undefined) packets.push(Buffer.from(packet.subarray(range.start, range.end)))
    }
    const framing = new GdpReader(65_535, { onBuffer })
    pipe.on('data', (chunk: Buffer) => {
      if (index === 0) lastVideo = performance.now()
      framing.push(chunk)
    })
    return packets
  })
  const patience = setInterval(() => {
    const since = lastVideo ?? began + 10_000
    if (performance.now() - since > AT_ONCE_MS) child.kill('SIGKILL')
  }, 50)
  const ended = await child.ended
  clearInterval(patience)
  const now = performance.now()
  return { fault: classifyEnd(ended, stderr.split('\n')), afterMs: now - (lastVideo ?? began), payloads, lastedMs: now - began }
}

const FLV_HEADER_BYTES = 13

/** The tags of FLV with those of AAC sound (Adobe FLV 10.1 section E.4.2) ahead of them: its configuration, then a frame. */
const soundFirst = (flv: Buffer): Buffer => {
  const tags = ['af001190', 'af01de020000', 'af01de020000'].map((hex) => {
    const data = Buffer.from(hex, 'hex')
    const head = Buffer.alloc(11)
    head.writeUInt8(8)
    head.writeUIntBE(data.length, 1, 3)
    const size = Buffer.alloc(4)
    size.writeUInt32BE(head.length + data.length)
    return Buffer.concat([head, data, size])
  })
  return Buffer.concat([flv.subarray(0, FLV_HEADER_BYTES), ...tags, flv.subarray(FLV_HEADER_BYTES)])
}

const ENDED = { fault: { reason: 'ended' } }

const expectEndAtOnce = (end: End, { expect: expects }: { readonly expect: ExpectStatic } = { expect }): void => {
  expects(end).toMatchObject(ENDED)
  expects(end.afterMs).toBeLessThan(AT_ONCE_MS)
  expects(end.payloads[0]?.length).toBeGreaterThan(10)
}

let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ends-'))
  const record = async (description: string, file: string): Promise<void> => {
    const args = ['-q', ...description.split(' '), '!', 'filesink', `location=${join(folder, file)}`]
    const { exitCode, stderr } = await runToEnd('gst-launch-1.0', args, { timeoutMs: 20_000, reach: 'host' })
    if (exitCode !== 0) throw new Error(stderr)
  }
  const raw = `videotestsrc num-buffers=50 ! ${PICTURES}`
  const h264 = `${raw} ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! h264parse`
  const h265 = `${raw} ! x265enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! h265parse`
  await Promise.all([
    record(`${h264} ! mpegtsmux`, 'h264.ts'),
    record(`${h265} ! mpegtsmux`, 'h265.ts'),
    record(`${h264} ! mp4mux`, 'h264.mp4'),
    record(`${h265} ! matroskamux`, 'h265.mkv'),
    record(`${h264} ! flvmux`, 'h264.flv'),
  ])
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a recording', () => {
  const FILES = ['h264.ts', 'h265.ts', 'h264.mp4', 'h265.mkv', 'h264.flv'] as const
  it.concurrent.for(FILES)('ends the child at its end: %s', async (file, test) => {
    const end = await runUntilEnd(await plan(`file://${folder}/${file}`))
    expectEndAtOnce(end, test)
    // 50 pictures at 25 per second: still at the speed of its timestamps.
    test.expect(end.lastedMs).toBeGreaterThan(1800)
  })

  it.concurrent('ends the child at its end, re-encoded', async (test) => {
    expectEndAtOnce(await runUntilEnd(await plan(`file://${folder}/h265.ts`, H264)), test)
  })

  it('with KLV gives every packet of it unchanged, and ends the child', async () => {
    const sender = await startTsKlvSender({ synchronous: false, klv: (index) => flightPacket(index * 100) })
    const socket = createSocket('udp4').bind(Number(new URL(sender.uri).port), '127.0.0.1')
    const received: Buffer[] = []
    await new Promise<void>((resolve) => {
      socket.on('message', (message) => {
        received.push(message)
        if (sender.sent.length >= 25) resolve()
      })
    })
    socket.close()
    await sender.stop()
    writeFileSync(join(folder, 'klv.ts'), Buffer.concat(received))
    const inside = new KlvDemuxer().push(Buffer.concat(received)).map(({ bytes }) => toHex(bytes))
    expect(inside.length).toBeGreaterThan(20)

    const end = await runUntilEnd(await plan(`file://${folder}/klv.ts`))
    expectEndAtOnce(end)
    const klv = end.payloads[1]?.map((payload) => toHex(payload)) ?? []
    // The demuxer begins with the first key frame, and a packet after the last picture has no time left to be shown.
    expect(klv.length).toBeGreaterThan(inside.length - 3)
    expect(inside.join()).toContain(klv.join())
  })
})

describe('a live source', () => {
  /** The response of a live stream ends with its connection: it has no length. */
  const serve = async (file: string, type: string, edit = (bytes: Buffer): Buffer => bytes): Promise<string> => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': type })
      response.end(edit(readFileSync(join(folder, file))))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/live`
  }

  const expectHttpEnd = async (uri: string): Promise<void> => {
    const { ended, video } = await playSource(uri)
    expect(await ended).toMatchObject({ reason: 'ended' })
    expect(video.length).toBeGreaterThan(10)
  }

  it.each([
    ['MPEG-TS', 'h264.ts', 'video/mp2t'],
    ['MPEG-TS with H.265', 'h265.ts', 'video/mp2t'],
    ['FLV', 'h264.flv', 'video/x-flv'],
    ['Matroska', 'h265.mkv', 'video/x-matroska'],
  ])('over HTTP ends the child when it ends: %s', async (_what, file, type) => {
    await expectHttpEnd(await serve(file, type))
  })

  const flv = (file = 'h264.flv') =>
    spawn('gst-launch-1.0', ['-q', ...`filesrc location=${folder}/${file} ! fdsink fd=1`.split(' ')], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })

  it('over RTMP ends the child when its server goes away', async () => {
    const server = await startRtmpServer(() => flv())
    onTestFinished(() => server.stop().catch(() => {}))
    expectEndAtOnce(await runUntilEnd(await plan(server.uri)))
  })

  it('in FLV with sound ahead of its video plays, and ends the child when its server goes away', async () => {
    writeFileSync(join(folder, 'sound.flv'), soundFirst(readFileSync(join(folder, 'h264.flv'))))
    const server = await startRtmpServer(() => flv('sound.flv'))
    onTestFinished(() => server.stop())
    expectEndAtOnce(await runUntilEnd(await plan(server.uri)))
    await expectHttpEnd(await serve('sound.flv', 'video/x-flv'))
  })

  it('of HLS ends when its server goes away, and the fault says so', async () => {
    const segment = readFileSync(join(folder, 'h264.ts'))
    const began = performance.now()
    const server = createServer((request, response) => {
      if (!request.url?.endsWith('.m3u8')) return response.writeHead(200, { 'content-type': 'video/mp2t' }).end(segment)
      const newest = 3 + Math.floor((performance.now() - began) / 2000)
      const head = ['#EXTM3U', '#EXT-X-VERSION:3', '#EXT-X-TARGETDURATION:2', `#EXT-X-MEDIA-SEQUENCE:${newest - 3}`]
      const segments = [3, 2, 1, 0].flatMap((age) => ['#EXT-X-DISCONTINUITY', '#EXTINF:2.0,', `${newest - age}.ts`])
      return response.writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' }).end([...head, ...segments, ''].join('\n'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const stop = (): void => {
      server.closeAllConnections()
      server.close()
    }
    onTestFinished(stop)
    const play = await playSource(`http://127.0.0.1:${(server.address() as AddressInfo).port}/live.m3u8`)
    await play.media()
    stop()
    expect(await play.ended).toMatchObject({ reason: 'unreachable', message: expect.stringMatching(/refuses|closed/) })
  })

  it('of RTMP with H.265 is unsupported, and the fault says why', async () => {
    const server = await startRtmpServer(() => flv(), { edit: asH265 })
    onTestFinished(() => server.stop())
    const fault = { reason: 'unsupported', message: expect.stringContaining('H.265') }
    expect((await runUntilEnd(await plan(server.uri))).fault).toMatchObject(fault)
  })
})
