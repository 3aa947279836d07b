import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runToEnd } from '../../../engine/gst/child.ts'
import { createPlanner } from '../../../engine/launch/plan.ts'
import type { Encoding } from '../../../lib/schema/pipeline.ts'
import { configure, H264, PICTURES } from '../../helpers/media/play-launch.ts'
import { playSource } from '../../helpers/media/play-source.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'
import { until } from '../../helpers/until.ts'

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
const PARAMETER_SETS = { h264: [7, 8], h265: [32, 33, 34] } as const

/** The NAL units of the first key frames of a source. */
const keyFrames = async (uri: string, encoding: Encoding | null, codec: Codec): Promise<readonly (readonly number[])[]> => {
  const { video } = await playSource(configure(uri, encoding), { planner: createPlanner({ allowFiles: true }) })
  const found = (): readonly (readonly number[])[] =>
    video.filter(({ key }) => key).map((unit) => unit.packets().flatMap((packet) => typesOf(codec, packet.subarray(12))))
  await until(found, (frames) => frames.length >= 3, 20_000)
  return found().slice(0, 3)
}

/** Three key frames of which each begins with its parameter sets, which come once. */
const expectParameterSetsOnce = (what: string, frames: readonly (readonly number[])[], codec: Codec): void => {
  const expected = PARAMETER_SETS[codec]
  for (const types of frames) {
    const firstSlice = types.findIndex(SLICES[codec])
    expect(types.slice(0, firstSlice), `${what}: ${types}`).toEqual(expect.arrayContaining([...expected]))
    const repeated = types.slice(firstSlice).filter((type) => expected.some((set) => set === type))
    expect(repeated, `${what}: after the first slice of ${types}`).toEqual([])
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

it('a key frame of several slices has its parameter sets once, before its slices', async () => {
  const rows: readonly (readonly [what: string, uri: string, Codec, Encoding | null])[] = [
    ['the test source', 'test://ball?width=320&height=240&fps=20', 'h264', null],
    ['the test source in H.265', 'test://ball?width=320&height=240&fps=20', 'h265', { codec: 'h265', bitrate: 500, quality: 1 }],
    ['RTSP re-encoded', source.url('/h264'), 'h264', H264],
    ['RTSP re-encoded to H.265', source.url('/h264'), 'h265', { ...H264, codec: 'h265' }],
    ['RTSP', source.url('/h264'), 'h264', null],
    ['RTSP with H.265', source.url('/h265'), 'h265', null],
    ['MPEG-TS inside RTSP', source.url('/mp2t'), 'h264', null],
    ['MPEG-TS', `file://${folder}/h264.ts`, 'h264', null],
    ['MPEG-TS with H.265', `file://${folder}/h265.ts`, 'h265', null],
    ['MP4', `file://${folder}/h264.mp4`, 'h264', null],
    ['Matroska with H.265', `file://${folder}/h265.mkv`, 'h265', null],
  ]
  // At once, since nearly all of their time goes into waiting for the GOPs of live sources.
  await Promise.all(
    rows.map(async ([what, uri, codec, encoding]) => expectParameterSetsOnce(what, await keyFrames(uri, encoding, codec), codec)),
  )
})
