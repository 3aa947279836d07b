import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KlvDemuxer, type KlvUnit } from '../../../engine/mpegts/klv-demuxer.ts'
import { KlvStreamParser } from '../../../lib/st0601/stream-parser.ts'
import { flightPacket } from '../../../lib/st0601/synthetic-flight.ts'
import { toHex } from '../../fixtures/klv/hex.ts'
import { DESCRIPTORS, TsMuxer } from '../../fixtures/klv/ts-muxer.ts'

const run = promisify(execFile)
const PACKETS = Array.from({ length: 20 }, (_, i) => flightPacket(i * 100))

/** A KLV stream of the test muxer, as input for other muxers. */
const ownStream = (): Uint8Array => {
  const mux = new TsMuxer()
  return Uint8Array.from(
    PACKETS.flatMap((klv, i) => [...mux.tables(0x15, DESCRIPTORS.synchronous), ...mux.synchronous(90_000 + i * 9000, klv)]),
  )
}

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'klv-ts-'))
  await writeFile(join(folder, 'own.ts'), ownStream())
  const video = ['-f', 'lavfi', '-i', 'testsrc=size=320x240:rate=10:duration=2']
  const copy = ['-map', '0:v', '-map', '1:d', '-c:v', 'mpeg2video', '-c:d', 'copy']
  await run('ffmpeg', ['-v', 'error', ...video, '-i', 'own.ts', ...copy, 'ffmpeg.ts'], {
    cwd: folder,
    timeout: 20_000,
    killSignal: 'SIGKILL',
  })
  const source = 'filesrc location=ffmpeg.ts ! tsdemux name=demux'
  const branches =
    'demux. ! video/mpeg ! mpegvideoparse ! queue ! mpegtsmux name=mux ! filesink location=gstreamer.ts demux. ! meta/x-klv ! queue ! mux.'
  await run('gst-launch-1.0', ['-q', ...`${source} ${branches}`.split(' ')], { cwd: folder, timeout: 20_000, killSignal: 'SIGKILL' })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each(['ffmpeg', 'gstreamer'])('a stream with video, multiplexed by %s', (muxer) => {
  const read = async (): Promise<KlvUnit[]> => {
    const bytes = await readFile(join(folder, `${muxer}.ts`))
    const reader = new KlvDemuxer()
    const units: KlvUnit[] = []
    for (let at = 0; at < bytes.length; at += 1316) units.push(...reader.push(bytes.subarray(at, at + 1316)))
    expect(reader.tracks).toHaveLength(1)
    expect(reader.counters).toMatchObject({ damaged: 0, skippedBytes: 0 })
    return units
  }

  it('yields every KLV packet, byte for byte', async () => {
    const stream = new KlvStreamParser()
    const packets = (await read()).flatMap((unit) => stream.push(unit.bytes))
    expect(packets.map((packet) => toHex(packet.bytes))).toEqual(PACKETS.map(toHex))
  })

  it('yields their time stamps, 100 ms apart', async () => {
    const times = (await read()).map(({ pts }) => pts ?? Number.NaN)
    expect(times.slice(1).map((pts, i) => pts - (times[i] ?? 0))).toEqual(new Array<number>(PACKETS.length - 1).fill(9000))
  })
})
