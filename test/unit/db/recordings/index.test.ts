import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openIndex } from '../../../../db/recordings/open-index.ts'
import { addSeen, forgetSeen, whoSaw } from '../../../../db/recordings/seen-rows.ts'
import {
  addSegments,
  daysRecorded,
  oldestSegments,
  removeSegments,
  type SegmentRow,
  segmentsIn,
  totalBytes,
} from '../../../../db/recordings/segment-rows.ts'
import { spansIn } from '../../../../db/recordings/span-rows.ts'
import type { Segment } from '../../../../lib/segments/segment.ts'
import { temporaryDataDir } from '../../../helpers/process/temporary-data-dir.ts'

const END = Number.MAX_SAFE_INTEGER

const segment = (pipeline_id: string, number: number, span = 0): Segment => ({
  pipeline_id,
  started_at: number * 1000,
  ended_at: (number + 1) * 1000,
  bytes: 10,
  tracks: ['h264'],
  format: '',
  span,
  run: 'run',
  first_dts: number * 90_000,
  counts: { 256: number },
  seen: [],
})

const open = async () => {
  const client = await openIndex(pathToFileURL(join(temporaryDataDir(), 'index.db')).href)
  if (client === false) throw new Error('no index')
  onTestFinished(() => client.close())
  const spans = async (query: object = {}) =>
    (await spansIn(client, { from: 0, to: END, before: END, limit: 1000, ...query })).map(({ pipeline_id, from, to, bytes }) => [
      pipeline_id,
      from,
      to,
      bytes,
    ])
  return { client, spans }
}

const series = (pipeline_id: string, numbers: readonly number[], span?: number) =>
  numbers.map((number) => segment(pipeline_id, number, span))

describe('the index of recordings', () => {
  it('has spans cut to a range, the newest first, with the bytes of their files', async () => {
    const { client, spans } = await open()
    await addSegments(client, [...series('a', [1, 2, 3]), ...series('b', [2, 3]), ...series('a', [7, 8], 7000)])
    expect(await spans()).toEqual([
      ['a', 7000, 9000, 20],
      ['b', 2000, 4000, 20],
      ['a', 1000, 4000, 30],
    ])
    expect(await spans({ from: 2500, to: 7500 })).toEqual([
      ['a', 7000, 7500, 10],
      ['a', 2500, 4000, 20],
      ['b', 2500, 4000, 20],
    ])
    expect(await spans({ pipelineId: 'b' })).toEqual([['b', 2000, 4000, 20]])
    expect(await spans({ from: 4000, to: 7000 })).toEqual([])
  })

  it('answers all spans that begin at once on one page', async () => {
    const { client, spans } = await open()
    await addSegments(client, [...series('a', [1, 2]), ...series('b', [1]), ...series('c', [0]), ...series('c', [5], 5000)])
    expect(await spans({ from: 1500, to: 1900, limit: 1 })).toHaveLength(2)
    expect((await spans({ limit: 2 })).map(([id]) => id)).toEqual(['c', 'a', 'b'])
    expect(await spans({ limit: 2, before: 1000 })).toEqual([['c', 0, 1000, 10]])
  })

  it('is the same in whatever order segments are added', async () => {
    const { client, spans } = await open()
    await addSegments(client, series('a', [5, 6]))
    await addSegments(client, series('a', [1, 3, 2, 4]))
    await addSegments(client, series('a', [6]))
    expect(await spans()).toEqual([['a', 1000, 7000, 60]])
    expect(await spans({ from: 3500, to: 4500 })).toEqual([['a', 3500, 4500, 20]])
    expect(await totalBytes(client)).toBe(60)
  })

  it('ends a span where a file was removed', async () => {
    const { client, spans } = await open()
    await addSegments(client, series('a', [1, 2, 3, 4, 5]))
    await removeSegments(client, 'a', [1000])
    expect(await spans()).toEqual([['a', 2000, 6000, 40]])
    await removeSegments(client, 'a', [3000])
    expect(await spans()).toEqual([
      ['a', 4000, 6000, 20],
      ['a', 2000, 3000, 10],
    ])
    await removeSegments(client, 'a', [5000, 2000, 9000])
    expect(await spans()).toEqual([['a', 4000, 5000, 10]])
    expect(await oldestSegments(client, 5)).toEqual([{ pipeline_id: 'a', started_at: 4000, ended_at: 5000, bytes: 10 }])
  })

  it('finds the segments of a range, and that of a moment', async () => {
    const { client } = await open()
    await addSegments(client, [...series('a', [1, 2, 3]), ...series('a', [7], 7000)])
    const found = async (from: number, to: number): Promise<readonly SegmentRow[]> => JSON.parse(await segmentsIn(client, 'a', from, to))
    const starts = async (from: number, to: number) => (await found(from, to)).map(({ started_at }) => started_at)
    expect(await starts(2500, 7500)).toEqual([2000, 3000, 7000])
    expect(await starts(2500, 2500)).toEqual([2000])
    expect(await starts(5000, 5000)).toEqual([])
    expect((await found(2000, 2000))[0]).toMatchObject({ counts: { 256: 2 }, tracks: ['h264'] })
  })

  it('knows the days of a pipeline', async () => {
    const { client } = await open()
    const day = 86_400
    await addSegments(client, [...series('a', [1, 2, day - 1]), ...series('a', [3 * day, 3 * day + 5], 7), ...series('b', [2 * day])])
    expect(await daysRecorded(client, 'a')).toEqual([0, 3 * day * 1000])
    expect(await daysRecorded(client, 'c')).toEqual([])
  })

  it('knows when a camera saw a place, with one row for a camera that does not move', async () => {
    const { client } = await open()
    const box = { south: 48, west: 11, north: 48.01, east: 11.02 }
    const seen = (first: number, count: number, north = box.north) =>
      Array.from({ length: count }, (_, at) => ({ second: first + at, ...box, north }))
    const newest = new Map()
    await addSeen(
      client,
      [
        { ...segment('a', 0), seen: seen(1_800_000_000, 10) },
        { ...segment('b', 0), seen: seen(1_800_000_000, 1) },
      ],
      newest,
    )
    await addSeen(client, [{ ...segment('a', 0), seen: [...seen(1_800_000_010, 5), ...seen(1_800_000_015, 1, 49)] }], newest)
    const range = { first: 0, last: 2_000_000_000 }
    expect(await whoSaw(client, { latitude: 48.005, longitude: 11.01, pipelineId: 'a', ...range })).toEqual([
      { pipeline_id: 'a', first: 1_800_000_000, last: 1_800_000_014 },
      { pipeline_id: 'a', first: 1_800_000_015, last: 1_800_000_015 },
    ])
    expect(await whoSaw(client, { latitude: 48.5, longitude: 11.01, ...range })).toHaveLength(1)
    expect(await whoSaw(client, { latitude: 48.005, longitude: 11.03, ...range })).toEqual([])
    expect(await whoSaw(client, { latitude: 48.005, longitude: 11.01, first: 0, last: 1_799_999_999 })).toEqual([])
    await forgetSeen(client, 'a', 1_800_000_015)
    expect(await whoSaw(client, { latitude: 48.005, longitude: 11.01, ...range })).toHaveLength(2)
  })
})
