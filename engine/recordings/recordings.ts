import { readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { is } from 'valibot'
import type { SpanQuery } from '../../db/recordings/span-rows.ts'
import { pause } from '../../lib/pause.ts'
import type { Log } from '../../lib/ports.ts'
import { pipelineIdSchema } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import type { PlayedSegment, Segment, WrittenSegment } from '../../lib/segments/segment.ts'
import { segmentPlace } from '../../lib/segments/segment-name.ts'
import type { RecordedSpan } from '../../lib/segments/spans.ts'
import { createSlots, type Slots } from '../../lib/slots.ts'
import { chainFile, readChain } from './chain-log.ts'
import { takeDirectory } from './directory-lock.ts'
import type { IndexMethods } from './index-worker.ts'
import { type OpenSegment, PipelineFolder } from './pipeline-folder.ts'
import { DIRECTORY_IN_USE, NO_ROOM, type RecordingFault, recordingFault } from './recording-fault.ts'
import { restoreIndex } from './restore-index.ts'
import { type Removed, Retention } from './retention.ts'
import { scanSegment } from './scan-segment.ts'
import { DiskBlocks, SegmentFile, type WrittenFile } from './segment-file.ts'
import { SegmentIndex } from './segment-index.ts'
import { loadSigningKey, type SigningKey } from './signing-key.ts'

interface RecordingsOptions {
  readonly folder: string
  /** Where the key is. */
  readonly dataDir: string
  readonly settings: () => EngineSettings['recordings']
  readonly log: Log
  /** Whether the settings have come: before, nothing is deleted. */
  readonly configured: () => boolean
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Work on the disk at once; a disk that hangs must leave threads to others. */
const DISK_JOBS = 12
/** Every recording has one job at a time, and few to complete segments. */
const MAX_WAITING_JOBS = 100_000
const TICK_MS = 200
/** How often a directory that cannot be used is tried again. */
const OPEN_EVERY_MS = 2000
/** How often age, size and free space are compared with the settings. */
const TRIM_EVERY_MS = 2000
/** How often the index is compared with folders that have changed: people remove files too. */
const RESTORE_EVERY_MS = 600_000

/** The recordings of all pipelines: their files, chains, key and index. */
export class Recordings {
  readonly index: SegmentIndex
  readonly #options: RecordingsOptions
  readonly #retention: Retention
  readonly #disk: Slots
  readonly #blocks = new DiskBlocks()
  readonly #folders = new Map<string, PipelineFolder>()
  readonly #ticks = new Set<() => void>()
  /** The segments that are not in the index yet. */
  readonly #unindexed = new Map<SegmentFile, () => WrittenSegment | undefined>()
  #ticking: NodeJS.Timeout | undefined
  #key: SigningKey | undefined
  #opening: Promise<void> | undefined
  #triedMs = Number.NEGATIVE_INFINITY
  #isOpen = false
  #fault: RecordingFault | undefined
  readonly #end = new AbortController()

  constructor(options: RecordingsOptions) {
    this.#options = options
    this.index = new SegmentIndex(options.folder, options.log)
    this.#retention = new Retention({ ...options, index: this.index, folderOf: (id) => this.#folder(id) })
    this.#disk = createSlots({ running: DISK_JOBS, waiting: MAX_WAITING_JOBS, refusal: () => new Error('too much work for the disk') })
  }

  /** Why nothing can be recorded now. */
  get fault(): RecordingFault | undefined {
    return this.#fault
  }

  /** Whether the directory is this process's. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  get segmentSeconds(): number {
    return this.#options.settings().segment_seconds
  }

  /** The public key of the signatures, PEM. Rejects while the directory cannot be used. */
  async publicKey(): Promise<string> {
    await this.open()
    return this.#requireKey().publicKey
  }

  /** Takes the directory and completes what an earlier process left open; does nothing when that is done. Rejects when it cannot be used. */
  open(): Promise<void> {
    this.#triedMs = performance.now()
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      this.#fault = error === DIRECTORY_IN_USE ? DIRECTORY_IN_USE : recordingFault(error)
      throw error
    })
    return this.#opening
  }

  /** Ends the work on the index, after what waits for it. */
  async close(): Promise<void> {
    this.#end.abort()
    await this.index.close()
  }

  /** Calls back several times a second; returns the function that ends it. */
  onTick(tick: () => void): () => void {
    this.#ticks.add(tick)
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS)
    return () => {
      this.#ticks.delete(tick)
      if (this.#ticks.size > 0) return
      clearInterval(this.#ticking)
      this.#ticking = undefined
    }
  }

  /** A new segment, whose file is made with its first bytes; `played`: what of it is on the disk, undefined before the first byte. */
  create({ id, ...open }: OpenSegment & { readonly id: string }, played: () => WrittenSegment | undefined): SegmentFile {
    const folder = this.#folder(id)
    // Where it cannot be written, the segment itself cannot be written either.
    const announced = folder.opened(open).catch(() => {})
    const file = new SegmentFile(folder.fileOf(open.started_at), { disk: this.#disk, blocks: this.#blocks, announced })
    this.#unindexed.set(file, played)
    return file
  }

  /** The segments of a pipeline that have something of a range, milliseconds since the epoch. Rejects while the directory cannot be used. */
  async segments(id: string, from: number, to: number): Promise<readonly PlayedSegment[]> {
    await this.open()
    // Before the index is asked: one that is completed meanwhile is then in both.
    const written = this.#written(id).filter(({ started_at, ended_at }) => started_at <= to && ended_at > from)
    await this.index.flush()
    const rows = await this.index.segments(id, from, to)
    const known = new Set(rows.map(({ started_at }) => started_at))
    return [...rows, ...written.filter(({ started_at }) => !known.has(started_at))]
  }

  /** The newest spans of a range, cut to it, the newest first; `covers`: the parts in which a camera saw a place. */
  async spans(query: SpanQuery, covers?: Parameters<IndexMethods['spans']>[2]): Promise<readonly RecordedSpan[]> {
    await this.open()
    const written = this.#written(query.pipelineId)
    await this.index.flush()
    return this.index.ask('spans', query, written, covers)
  }

  /** What is on the disk of the segments that are not in the index yet, the oldest first. */
  #written(id?: string): readonly WrittenSegment[] {
    return [...this.#unindexed.values()]
      .map((played) => played())
      .filter((segment) => segment !== undefined)
      .filter(({ pipeline_id }) => id === undefined || pipeline_id === id)
  }

  /** Closes the file of a segment and adds it to its chain. Rejects with the file system's error. */
  async complete(facts: Omit<Segment, 'bytes'>, file: SegmentFile): Promise<void> {
    const folder = this.#folder(facts.pipeline_id)
    let completed: { readonly segment: Segment; readonly file: WrittenFile } | undefined
    try {
      const written = await file.close()
      completed = written && { segment: { ...facts, bytes: written.bytes }, file: written }
      // Also one that the chain cannot take now.
      if (completed !== undefined) this.index.add(completed.segment)
    } finally {
      this.#unindexed.delete(file)
    }
    if (completed === undefined) folder.discarded(facts.started_at)
    else await folder.completed(completed)
  }

  /** Deletes what a pipeline recorded before a time (milliseconds since the epoch), whole segments. */
  async removeBefore(pipelineId: string, before: number): Promise<Removed> {
    await this.open()
    return this.#retention.removeBefore(pipelineId, before)
  }

  /** Where a segment is. */
  fileOf(pipelineId: string, startedAt: number): string {
    return this.#folder(pipelineId).fileOf(startedAt)
  }

  async #open(): Promise<void> {
    const { folder, dataDir } = this.#options
    if (!(await takeDirectory(folder))) throw DIRECTORY_IN_USE
    this.#key = await loadSigningKey(dataDir)
    await this.index.open()
    for (const pipeline of await this.#foldersOnDisk()) await this.#adopt(pipeline)
    this.#fault = undefined
    this.#isOpen = true
    void this.#keep()
  }

  /** Keeps the index as the files are, and the files within the settings, until the process ends. */
  async #keep(): Promise<void> {
    const { log, configured } = this.#options
    const known = new Map<string, number>()
    for (let restoredMs = Number.NEGATIVE_INFINITY; !this.#end.signal.aborted; ) {
      try {
        const isGone = await this.index.ask('isGone')
        if (isGone) await this.index.open()
        if (isGone || this.index.takeIncomplete()) {
          known.clear()
          restoredMs = Number.NEGATIVE_INFINITY
        }
        if (performance.now() - restoredMs > RESTORE_EVERY_MS) {
          await restoreIndex({ index: this.index, known, folders: await this.#foldersOnDisk(), log })
          restoredMs = performance.now()
        }
        const hasRoom = !configured() || (await this.#retention.trim())
        if (this.#fault === NO_ROOM || this.#fault === undefined) this.#fault = hasRoom ? undefined : NO_ROOM
      } catch (error) {
        if (!this.#end.signal.aborted) log.warn('recordings_not_kept', { error })
      }
      await pause(TRIM_EVERY_MS, this.#end.signal)
    }
  }

  async #foldersOnDisk(): Promise<readonly PipelineFolder[]> {
    const entries = await readdir(this.#options.folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory() && is(pipelineIdSchema, entry.name)).map(({ name }) => this.#folder(name))
  }

  #folder(id: string): PipelineFolder {
    const known = this.#folders.get(id) ?? new PipelineFolder(id, join(this.#options.folder, id), this.#requireKey())
    this.#folders.set(id, known)
    return known
  }

  #requireKey(): SigningKey {
    if (this.#key === undefined) throw new Error('the directory of the recordings is not open')
    return this.#key
  }

  #tick(): void {
    if (!this.#isOpen && performance.now() - this.#triedMs > OPEN_EVERY_MS) this.open().catch(() => {})
    for (const tick of this.#ticks) tick()
  }

  /** Completes the segments that an earlier process left open. */
  async #adopt(folder: PipelineFolder): Promise<void> {
    const { log } = this.#options
    for (const open of await folder.leftOpen()) {
      const { day, name } = segmentPlace(open.started_at)
      try {
        const chain = await readFile(join(folder.path, chainFile(day)), 'utf8').catch(() => '')
        if (readChain(chain).some(({ segment }) => segment === name)) continue
        const scanned = await scanSegment(folder.fileOf(open.started_at), folder.id, open, { repair: true })
        // The process was killed before it wrote a picture.
        if (scanned === undefined) await unlink(folder.fileOf(open.started_at))
        else {
          await folder.completed(scanned)
          this.index.add(scanned.segment)
        }
        log.info('segment_recovered', { pipeline_id: folder.id, segment: name, bytes: scanned?.file.bytes ?? 0 })
      } catch (error) {
        log.warn('segment_not_recovered', { pipeline_id: folder.id, segment: name, error })
      }
    }
  }
}
