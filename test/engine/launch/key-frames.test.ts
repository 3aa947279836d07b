import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, type ExpectStatic, expect, it } from 'vitest'
import { runToEnd, startChild } from '../../../engine/gst/child.ts'
import type { Launch } from '../../../engine/launch/launch.ts'
import { payloadOf, timestampOf } from '../../../engine/rtp/packet/packet.ts'
import { Rfc4571Reader } from '../../../engine/rtp/packet/rfc4571.ts'
import type { Encoding } from '../../../lib/schema/pipeline.ts'
import { H264, PICTURES, plan } from '../../helpers/media/play-launch.ts'
import { playSource } from '../../helpers/media/play-source.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'
import { until } from '../../helpers/until.ts'

const H265: Encoding = { ...H264, codec: 'h265' }

type Codec = 'h264' | 'h265'

/** Types of the NAL units that begin in a payload (RFC 6184 section 5.2, RFC 7798 section 4.4). */
const typesOf = (codec: Codec, payload: Buffer): readonly number[] => {
  const [header, aggregation, fragment] = codec === 'h264' ? [1, 24, 28] : [2, 48, 49]
  const typeAt = (at: number): number => (codec === 'h264' ? payload.readUInt8(at) & 31 : (payload.readUInt8(at) >> 1) & 63)
  const type = typeAt(0)
  if (type === fragment) {
    const fragmentHeader = payload.readUInt8(header)
    return fragmentHeader >= 128 ? [fragmentHeader & (codec === 'h264' ? 31 : 63)] : []
  }
  if (type !== aggregation) return [type]
  const types: number[] = []
  for (let at = header; at + 2 < payload.length; at += 2 + payload.readUInt16BE(at)) types.push(typeAt(at + 2))
  return types
}

const SLICES = { h264: (type: number) => type >= 1 && type <= 5, h265: (type: number) => type < 32 } as const
/** IDR; for H.265 also BLA and CRA, where a decoder can begin as well. */
const KEY_SLICES = { h264: (type: number) => type === 5, h265: (type: number) => type >= 16 && type <= 23 } as const
const PARAMETER_SETS = { h264: [7, 8], h265: [32, 33, 34] } as const

/** The NAL units of the first key frames that a line outputs. */
const keyFrames = async (launch: Launch, codec: Codec, count: number): Promise<readonly (readonly number[])[]> => {
  const child = startChild('gst-launch-1.0', launch.args, { mediaPipes: launch.streams.length, reach: launch.reach })
  for (const pipe of [child.stdout, child.stderr, ...child.media.slice(1)]) pipe.resume()
  const pictures: { readonly timestamp: number; readonly types: number[] }[] = []
  const found = (): number[][] => pictures.slice(0, -1).flatMap(({ types }) => (types.some(KEY_SLICES[codec]) ? [types] : []))
  const framing = new Rfc4571Reader()
  await new Promise<void>((resolve) => {
    void child.ended.then(() => resolve())
    child.media[0]?.on('data', (chunk: Buffer) => {
      framing.push(chunk, (packet) => {
        const range = payloadOf(packet)
        if (range === undefined) return
        if (pictures.at(-1)?.timestamp !== timestampOf(packet)) pictures.push({ timestamp: timestampOf(packet), types: [] })
        pictures.at(-1)?.types.push(...typesOf(codec, packet.subarray(range.start, range.end)))
      })
      if (found().length >= count) resolve()
    })
  })
  child.kill('SIGKILL')
  await child.ended
  return found().slice(0, count)
}

/** The same of a source that the engine reads. */
const keyFramesRead = async (uri: string, codec: Codec, count: number): Promise<readonly (readonly number[])[]> => {
  const { video, stop } = await playSource(uri)
  const found = (): readonly (readonly number[])[] =>
    video.filter(({ key }) => key).map((unit) => unit.packets().flatMap((packet) => typesOf(codec, packet.subarray(12))))
  await until(found, (frames) => frames.length >= count)
  await stop()
  return found().slice(0, count)
}

/** Three key frames of which each begins with its parameter sets, which come once. */
const expectParameterSetsOnce = (expect: ExpectStatic, frames: readonly (readonly number[])[], codec: Codec): void => {
  expect(frames).toHaveLength(3)
  const expected = PARAMETER_SETS[codec]
  for (const types of frames) {
    const firstSlice = types.findIndex(SLICES[codec])
    expect(types.slice(0, firstSlice), String(types)).toEqual(expect.arrayContaining([...expected]))
    const repeated = types.slice(firstSlice).filter((type) => expected.some((set) => set === type))
    expect(repeated, `after the first slice of ${types}`).toEqual([])
  }
}

let source: RtspSource
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'key-frames-'))
  const raw = `videotestsrc num-buffers=80 ! ${PICTURES}`
  const x264 = 'x264enc threads=4 tune=zerolatency speed-preset=ultrafast key-int-max=20'
  // CRA pictures (type 21) as later key frames, and parameter sets only before the first.
  const x265 = 'x265enc tune=zerolatency speed-preset=ultrafast key-int-max=20 option-string=slices=3:repeat-headers=0:scenecut=0'
  const record = (line: string) =>
    runToEnd('gst-launch-1.0', ['-q', ...`${raw} ! ${line}`.split(' ')], { timeoutMs: 20_000, reach: 'host' })
  const recorded = await Promise.all([
    record(`${x264} ! h264parse ! mpegtsmux ! filesink location=${folder}/h264.ts`),
    record(`${x264} ! h264parse ! mp4mux ! filesink location=${folder}/h264.mp4`),
    record(`${x265} ! h265parse ! mpegtsmux ! filesink location=${folder}/h265.ts`),
    record(`${x265} ! h265parse ! matroskamux ! filesink location=${folder}/h265.mkv`),
  ])
  expect(recorded.map(({ stderr }) => stderr)).toEqual(['', '', '', ''])
  source = await startRtspSource(['--gop-seconds', '0.5'])
})
afterAll(async () => {
  await source.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe('a key frame of several slices', () => {
  // At once, since nearly all of their time goes into waiting for the GOPs of live sources.
  it.concurrent.for<[what: string, uri: () => string, Codec, Encoding | null]>([
    ['the test source', () => 'test://ball?width=320&height=240&fps=20', 'h264', null],
    ['the test source in H.265', () => 'test://ball?width=320&height=240&fps=20', 'h265', { codec: 'h265', bitrate: 500, quality: 1 }],
    ['RTSP re-encoded', () => source.url('/h264'), 'h264', H264],
    ['RTSP re-encoded to H.265', () => source.url('/h264'), 'h265', H265],
    ['RTSP', () => source.url('/h264'), 'h264', null],
    ['RTSP with H.265', () => source.url('/h265'), 'h265', null],
    ['MPEG-TS inside RTSP', () => source.url('/mp2t'), 'h264', null],
    ['MPEG-TS', () => `file://${folder}/h264.ts`, 'h264', null],
    ['MPEG-TS with H.265', () => `file://${folder}/h265.ts`, 'h265', null],
    ['MP4', () => `file://${folder}/h264.mp4`, 'h264', null],
    ['Matroska with H.265', () => `file://${folder}/h265.mkv`, 'h265', null],
  ])('has its parameter sets once, before its slices: %s', async ([_what, uri, codec, encoding], { expect }) => {
    expectParameterSetsOnce(expect, await keyFrames(await plan(uri(), encoding), codec, 3), codec)
  })

  it.each(['h264', 'h265'] as const)('has its parameter sets once, before its slices: RTSP that the engine reads, %s', async (codec) => {
    expectParameterSetsOnce(expect, await keyFramesRead(source.url(`/${codec}`), codec, 3), codec)
  })
})
