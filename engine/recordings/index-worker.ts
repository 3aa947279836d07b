import { existsSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parentPort } from 'node:worker_threads'
import type { Client } from '@libsql/client'
import { isDamaged } from '../../db/connect/database-error.ts'
import { openIndex } from '../../db/recordings/open-index.ts'
import { addSeen, forgetSeen, whoSaw } from '../../db/recordings/seen-rows.ts'
import {
  addSegments,
  daysRecorded,
  oldestSegments,
  pipelinesRecorded,
  removeSegments,
  type SegmentRow,
  segmentsIn,
  startsIn,
  totalBytes,
} from '../../db/recordings/segment-rows.ts'
import { type SpanQuery, spansIn } from '../../db/recordings/span-rows.ts'
import type { Segment, WrittenSegment } from '../../lib/segments/segment.ts'
import { segmentPlace } from '../../lib/segments/segment-name.ts'
import { mergeSeconds, partsOf, type RecordedSpan, withSegments } from '../../lib/segments/spans.ts'

/** The thread of the index: the driver of libSQL waits for the disk, which must not hold up media. */

interface Covers {
  readonly latitude: number
  readonly longitude: number
}

/** Parts of spans that are looked through for one answer. */
const MAX_SPANS = 100_000

let client: Client | undefined
let place = { path: '', inode: 0 }
/** What was read is no database. */
let isBroken = false
const running = new Set<Promise<unknown>>()
const newestSeen: Parameters<typeof addSeen>[2] = new Map()

const opened = (): Client => {
  if (client === undefined) throw new Error('the index of the recordings is not open')
  return client
}

const METHODS = {
  /** Opens the file, and makes it anew where it is no index. */
  open: async (path: string): Promise<void> => {
    client?.close()
    client = undefined
    newestSeen.clear()
    // A journal that is left without its file would be taken for a part of the new one.
    if (isBroken || !existsSync(path)) removeIndex(path)
    isBroken = false
    let found = await openIndex(pathToFileURL(path).href)
    if (found === false) {
      removeIndex(path)
      found = await openIndex(pathToFileURL(path).href)
    }
    if (found === false) throw new Error('the index of the recordings cannot be made')
    client = found
    place = { path, inode: statSync(path).ino }
  },
  /** Waits for what was asked before. */
  close: async (): Promise<void> => {
    await Promise.allSettled(running)
    client?.close()
    client = undefined
  },
  /** Whether the file was removed, exchanged or damaged: what is written then goes nowhere. */
  isGone: async (): Promise<boolean> => isBroken || statSync(place.path, { throwIfNoEntry: false })?.ino !== place.inode,
  add: async (segments: readonly Segment[]): Promise<void> => {
    await addSegments(opened(), segments)
    if (segments.some(({ seen }) => seen.length > 0)) await addSeen(opened(), segments, newestSeen)
  },
  remove: (pipelineId: string, startedAt: readonly number[]) => removeSegments(opened(), pipelineId, startedAt),
  forgetSeen: (pipelineId: string, before: number) => forgetSeen(opened(), pipelineId, before),
  /** Those whose files are there, as JSON: others were removed by hand, and are forgotten. */
  segments: async (pipelineId: string, from: number, to: number): Promise<string> => {
    const json = await segmentsIn(opened(), pipelineId, from, to)
    const starts = (JSON.parse(json) as readonly SegmentRow[]).map(({ started_at }) => started_at)
    const gone = starts.filter((startedAt) => !existsSync(fileOf(pipelineId, startedAt)))
    if (gone.length === 0) return json
    await removeSegments(opened(), pipelineId, gone)
    return segmentsIn(opened(), pipelineId, from, to)
  },
  starts: (pipelineId: string, from: number, to: number) => startsIn(opened(), pipelineId, from, to),
  oldest: (limit: number, pipelineId?: string) => oldestSegments(opened(), limit, pipelineId),
  pipelines: () => pipelinesRecorded(opened()),
  days: (pipelineId: string) => daysRecorded(opened(), pipelineId),
  total: () => totalBytes(opened()),
  /** With the segments that are being written, the oldest first. */
  spans: async (query: SpanQuery, written: readonly WrittenSegment[], covers?: Covers): Promise<readonly RecordedSpan[]> =>
    covers === undefined ? withSegments(await spansIn(opened(), query), written, query) : coveringSpans(query, written, covers),
} as const

const fileOf = (pipelineId: string, startedAt: number): string => {
  const { day, name } = segmentPlace(startedAt)
  return `${dirname(place.path)}/${pipelineId}/${day}/${name}`
}

const removeIndex = (path: string): void => {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
}

/** The parts of the spans in which a camera saw a place, the newest first. */
const coveringSpans = async (query: SpanQuery, written: readonly WrittenSegment[], covers: Covers): Promise<readonly RecordedSpan[]> => {
  const { pipelineId, from, to, before, limit } = query
  const indexed = await whoSaw(opened(), { ...covers, pipelineId, first: Math.floor(from / 1000), last: Math.floor(to / 1000) })
  const seen = [...indexed, ...written.flatMap((segment) => seenWhile(segment, covers))]
  const perPipeline = Map.groupBy(seen, ({ pipeline_id }) => pipeline_id)
  const parts: (RecordedSpan & { readonly span: RecordedSpan })[] = []
  for (const [id, seconds] of perPipeline) {
    const intervals = mergeSeconds(seconds)
    const [first, last] = [intervals[0]?.from ?? from, intervals.at(-1)?.to ?? to]
    const within = {
      pipelineId: id,
      from: Math.max(from, first),
      to: Math.min(to, last),
      before: Number.MAX_SAFE_INTEGER,
      limit: MAX_SPANS,
    }
    const spans = withSegments(
      await spansIn(opened(), within),
      written.filter(({ pipeline_id }) => pipeline_id === id),
      within,
    )
    for (const span of spans) for (const part of partsOf(span, intervals)) parts.push({ ...span, ...part, span })
  }
  const chosen = parts.filter((part) => part.from < before).toSorted((one, other) => other.from - one.from)
  const last = chosen[limit - 1]?.from
  return chosen
    .filter((part) => last === undefined || part.from >= last)
    .map(({ span, ...part }) => ({ ...part, bytes: Math.round((span.bytes * (part.to - part.from)) / Math.max(1, span.to - span.from)) }))
}

const seenWhile = ({ pipeline_id, seen }: WrittenSegment, { latitude, longitude }: Covers) =>
  seen
    .filter(({ south, west, north, east }) => south <= latitude && north >= latitude && west <= longitude && east >= longitude)
    .map(({ second }) => ({ pipeline_id, first: second, last: second }))

export type IndexMethods = typeof METHODS

parentPort?.on('message', ({ id, method, args }: { id: number; method: keyof IndexMethods; args: unknown[] }) => {
  const call = METHODS[method] as (...args: unknown[]) => Promise<unknown>
  // Some throw at once where the index is not open.
  const answered = (async () => call(...args))()
    .then(
      (answer) => parentPort?.postMessage({ id, answer }),
      (error: unknown) => {
        isBroken ||= isDamaged(error)
        parentPort?.postMessage({ id, error: error instanceof Error ? error.message : String(error) })
      },
    )
    .finally(() => {
      running.delete(answered)
      // The thread ends.
      if (method === 'close') parentPort?.close()
    })
  running.add(answered)
})
