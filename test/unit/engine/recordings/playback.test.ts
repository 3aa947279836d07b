import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PacketReader } from '../../../../engine/mpegts/packet-reader.ts'
import { TsMuxer } from '../../../../engine/mpegts/ts-muxer.ts'
import { planRange } from '../../../../engine/recordings/playback/range-plan.ts'
import { lengthOf, readRange } from '../../../../engine/recordings/playback/range-stream.ts'
import { parseRange } from '../../../../lib/byte-range.ts'
import type { PlayedSegment } from '../../../../lib/segments/segment.ts'
import { counterGaps, countPictures, pictureTimes } from '../../../helpers/media/transport-stream.ts'
import { temporaryDataDir } from '../../../helpers/process/temporary-data-dir.ts'

const FRAME_MS = 40
const TICKS = 90
const BEGIN = Date.parse('2026-11-20T10:00:00Z')

/** A segment of a second with a key frame each half, whose clock begins at `dts`. */
const segment = (folder: string, startedAt: number, run: string, dts: number): { row: PlayedSegment; path: string } => {
  const muxer = new TsMuxer()
  const path = join(folder, `${startedAt}.ts`)
  writeFileSync(path, '')
  for (let frame = 0; frame < 25; frame += 1) {
    const key = frame % 12 === 0
    const at = dts + frame * FRAME_MS * TICKS
    if (key) appendFileSync(path, muxer.tables({ videoType: 0x1b, klv: false, version: 0 } as Parameters<TsMuxer['tables']>[0]))
    appendFileSync(path, muxer.video([Buffer.alloc(100 + frame * 40, frame)], { pts: at, dts: at, key }))
  }
  const bytes = readRangeBytes(path)
  const reader = new PacketReader()
  reader.read(bytes, () => {})
  const counts = Object.fromEntries([...reader.counts].map(([pid, count]) => [String(pid), count % 16]))
  const row = { pipeline_id: 'gate', started_at: startedAt, ended_at: startedAt + 1000, bytes: bytes.length }
  return { row: { ...row, tracks: ['h264'], format: '', span: BEGIN, run, first_dts: dts % 2 ** 33, counts }, path }
}

const readRangeBytes = (path: string): Buffer => process.getBuiltinModule('node:fs').readFileSync(path)

const join_ = async (pieces: Awaited<ReturnType<typeof planRange>>, first: number, last: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of readRange(pieces, { first, last })) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

describe('a range of segments', () => {
  const folder = () => temporaryDataDir()
  const planOf = async (from: number, to: number, runs = ['one', 'one', 'two'], clocks = [900_000, 990_000, 2 ** 33 - 45_000]) => {
    const directory = folder()
    const segments = runs.map((run, number) => segment(directory, BEGIN + number * 1000, run, clocks[number] ?? 0))
    const paths = new Map(segments.map(({ row, path }) => [row, path]))
    return planRange(
      segments.map(({ row }) => row),
      (row) => paths.get(row) ?? '',
      { from, to },
    )
  }

  it('has counters that continue and times that rise, also over a run with another clock', async () => {
    const pieces = await planOf(BEGIN, BEGIN + 3000)
    const bytes = await join_(pieces, 0, lengthOf(pieces) - 1)
    expect([bytes.length, counterGaps(bytes), countPictures(bytes)]).toEqual([lengthOf(pieces), 0, 75])
    const times = pictureTimes(bytes).map(({ dts }) => dts)
    expect(times).toEqual(times.map((_time, frame) => 900_000 + frame * FRAME_MS * TICKS))
  })

  it('begins with the key frame at or before its begin, and ends with the frame at its end', async () => {
    const pieces = await planOf(BEGIN + 700, BEGIN + 2100)
    const bytes = await join_(pieces, 0, lengthOf(pieces) - 1)
    // From frame 12 of the first second, to frame 2 of the third.
    expect([counterGaps(bytes), countPictures(bytes)]).toEqual([0, 13 + 25 + 3])
    expect(pictureTimes(bytes)[0]?.dts).toBe(900_000 + 12 * FRAME_MS * TICKS)
  })

  it('is the same in parts as in one', async () => {
    const pieces = await planOf(BEGIN + 500, BEGIN + 2500)
    const length = lengthOf(pieces)
    const whole = await join_(pieces, 0, length - 1)
    for (const [first, last] of [
      [0, 0],
      [1, 400],
      [187, 188],
      [length - 1, length - 1],
      [20_000, 90_000],
      [length >> 1, length - 2],
    ] as const) {
      expect((await join_(pieces, first, Math.min(last, length - 1))).equals(whole.subarray(first, last + 1)), `${first}-${last}`).toBe(
        true,
      )
    }
  })
})

it.each([
  ['bytes=0-', { first: 0, last: 99 }],
  ['bytes=10-19', { first: 10, last: 19 }],
  ['bytes=-10', { first: 90, last: 99 }],
  ['bytes=-1000', { first: 0, last: 99 }],
  ['bytes=99-1000', { first: 99, last: 99 }],
  ['bytes=100-', undefined],
  ['bytes=20-10', undefined],
  ['bytes=-0', undefined],
  ['bytes=-', undefined],
  ['bytes=0-1,3-4', undefined],
  ['bytes=0x1-5', undefined],
  ['bytes=1e1-', undefined],
  ['lines=1-2', undefined],
  [`bytes=0-${'9'.repeat(80)}`, undefined],
  [undefined, undefined],
])('reads the range %s of 100 bytes', (header, range) => expect(parseRange(header, 100)).toEqual(range))
