import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pause } from '../../lib/pause.ts'
import type { Log } from '../../lib/ports.ts'
import type { ChainLine } from '../../lib/segments/chain.ts'
import type { Segment } from '../../lib/segments/segment.ts'
import { isDay, segmentPlace, segmentTime } from '../../lib/segments/segment-name.ts'
import { chainFile, readChain } from './chain-log.ts'
import type { PipelineFolder } from './pipeline-folder.ts'
import { scanSegment } from './scan-segment.ts'
import type { SegmentIndex } from './segment-index.ts'

const DAY_MS = 86_400_000
const BATCH = 500
/** Media goes first: the index is restored between other work. */
const BREAK_MS = 5

interface RestoreParts {
  readonly index: SegmentIndex
  /** When the folders of days were last changed as they are in the index, milliseconds since the epoch, by their paths. */
  readonly known: Map<string, number>
  readonly folders: readonly PipelineFolder[]
  readonly log: Log
}

/** Makes the index say what the folders hold, the newest day first: files that it lacks are added, and those that are gone removed. */
export const restoreIndex = async ({ index, known, folders, log }: RestoreParts): Promise<void> => {
  const counts = { added: 0, removed: 0 }
  const days = await Promise.all(folders.map(async (folder) => (await daysOf(folder)).map((day) => ({ folder, day }))))
  for (const { folder, day } of days.flat().toSorted((one, other) => other.day.localeCompare(one.day))) {
    const path = join(folder.path, day)
    try {
      const { mtimeMs } = await stat(path)
      if (known.get(path) === mtimeMs) continue
      await restoreDay(index, folder, day, counts)
      known.set(path, mtimeMs)
    } catch (error) {
      log.warn('recordings_day_not_indexed', { pipeline_id: folder.id, day, error })
    }
    await pause(BREAK_MS)
  }
  await forgetFolders(index, folders, counts)
  if (counts.added + counts.removed > 0) log.info('recordings_indexed', counts)
}

interface Counts {
  added: number
  removed: number
}

const daysOf = async ({ path }: PipelineFolder): Promise<readonly string[]> =>
  (await readdir(path, { withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isDirectory() && isDay(entry.name))
    .map(({ name }) => name)

const restoreDay = async (index: SegmentIndex, folder: PipelineFolder, day: string, counts: Counts): Promise<void> => {
  const begin = Date.parse(`${day}T00:00:00.000Z`)
  await index.flush()
  const known = await index.ask('starts', folder.id, begin, begin + DAY_MS)
  const names = await readdir(join(folder.path, day))
  const found = names.flatMap((name) => segmentTime(name) ?? []).filter((at) => segmentPlace(at).day === day)
  const [inIndex, onDisk] = [new Set(known), new Set(found)]
  const gone = known.filter((at) => !onDisk.has(at))
  if (gone.length > 0) await index.ask('remove', folder.id, gone)
  counts.removed += gone.length
  const missing = found.filter((at) => !inIndex.has(at) && !folder.isOpen(at)).sort((one, other) => one - other)
  if (missing.length === 0) return
  const lines = await linesOf(folder, day)
  let batch: Segment[] = []
  for (const at of missing) {
    const segment = (await fromChain(folder, lines.get(segmentPlace(at).name), at)) ?? (await fromFile(folder, at, batch.at(-1)))
    if (segment !== undefined) batch.push(segment)
    if (batch.length >= BATCH) {
      await index.ask('add', batch)
      counts.added += batch.length
      batch = batch.slice(-1)
      await pause(BREAK_MS)
    }
  }
  if (batch.length > 0) await index.ask('add', batch)
  counts.added += batch.length
}

const linesOf = async (folder: PipelineFolder, day: string): Promise<ReadonlyMap<string, ChainLine>> => {
  const text = await readFile(join(folder.path, chainFile(day)), 'utf8').catch(() => '')
  return new Map(readChain(text).flatMap((line) => (line.segment === undefined ? [] : [[line.segment, line]])))
}

/** What the chain says of a file, unless the file has another size. */
const fromChain = async (folder: PipelineFolder, line: ChainLine | undefined, at: number): Promise<Segment | undefined> => {
  if (line === undefined) return undefined
  const facts = line as unknown as Segment & { readonly to: string }
  const { size } = await stat(folder.fileOf(at))
  if (size !== line.bytes || !Array.isArray(facts.tracks) || !Array.isArray(facts.seen)) return undefined
  const { tracks, span, run, first_dts, counts, seen, bytes, format = '' } = facts
  return {
    pipeline_id: folder.id,
    started_at: at,
    ended_at: Date.parse(facts.to),
    bytes,
    tracks,
    format,
    span,
    run,
    first_dts,
    counts,
    seen,
  }
}

/** A file that is in no chain. Undefined for one that is no video. */
const fromFile = async (folder: PipelineFolder, at: number, before: Segment | undefined): Promise<Segment | undefined> => {
  const alone = { started_at: at, span: at, run: `file ${at}`, format: '' }
  const scanned = await scanSegment(folder.fileOf(at), folder.id, alone, { repair: false }).catch(() => undefined)
  if (scanned === undefined) return undefined
  const follows = before !== undefined && Math.abs(before.ended_at - at) < 100 && before.tracks.join() === scanned.segment.tracks.join()
  return follows ? { ...scanned.segment, span: before.span } : scanned.segment
}

/** Of pipelines and days whose folders were removed, nothing is left. */
const forgetFolders = async (index: SegmentIndex, folders: readonly PipelineFolder[], counts: Counts): Promise<void> => {
  const present = new Map(folders.map((folder) => [folder.id, folder]))
  for (const id of await index.ask('pipelines')) {
    const folder = present.get(id)
    const days = new Set(folder === undefined ? [] : await daysOf(folder))
    for (const begin of (await index.ask('days', id)).filter((at) => !days.has(segmentPlace(at).day))) {
      const gone = await index.ask('starts', id, begin, begin + DAY_MS)
      await index.ask('remove', id, gone)
      counts.removed += gone.length
    }
  }
}
