import { rmdir, statfs, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Log } from '../../lib/ports.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import { segmentPlace } from '../../lib/segments/segment-name.ts'
import { chainFile, isMissing } from './chain-log.ts'
import type { PipelineFolder } from './pipeline-folder.ts'
import type { SegmentIndex } from './segment-index.ts'

interface RetentionParts {
  readonly folder: string
  readonly index: SegmentIndex
  readonly folderOf: (id: string) => PipelineFolder
  readonly settings: () => EngineSettings['recordings']
  readonly log: Log
  readonly now: () => number
}

export interface Removed {
  readonly deleted: number
  readonly bytes: number
}

const GIGABYTE = 1e9
const HOUR_MS = 3_600_000
/** Files removed between two looks at the limits. */
const BATCH = 50
const FORGET_EVERY_MS = 60_000
/** A clock that gets ahead of the steady one by more than this was set, maybe to a wrong time. */
const CLOCK_SET_MS = HOUR_MS
/** Nothing is deleted for its age for so long after that. */
const GRACE_MS = HOUR_MS

/** Deletes the oldest segments until age, size and free space are within the settings. */
export class Retention {
  readonly #parts: RetentionParts
  #forgotMs = Number.NEGATIVE_INFINITY
  /** Of the host, ahead of the steady clock; in the beginning it is taken as it is. */
  #aheadMs: number | undefined
  #graceEndsMs = Number.NEGATIVE_INFINITY

  constructor(parts: RetentionParts) {
    this.#parts = parts
  }

  /** Answers false when the disk has too little free space although nothing is left to delete. */
  async trim(): Promise<boolean> {
    const { index, settings } = this.#parts
    await index.flush()
    for (;;) {
      const { max_hours, max_gigabytes, min_free_gigabytes } = settings()
      const [free, total, oldest] = await Promise.all([this.#freeBytes(), index.ask('total'), index.ask('oldest', BATCH)])
      let excess = Math.max(total - max_gigabytes * GIGABYTE, min_free_gigabytes * GIGABYTE - free)
      const tooOld = this.#isClockTrusted() ? this.#parts.now() - max_hours * HOUR_MS : Number.NEGATIVE_INFINITY
      const removed: Segments = []
      for (const segment of oldest) {
        if (excess <= 0 && segment.ended_at >= tooOld) break
        excess -= segment.bytes
        removed.push(segment)
      }
      if (removed.length === 0) return free >= min_free_gigabytes * GIGABYTE
      for (const [id, segments] of Map.groupBy(removed, ({ pipeline_id }) => pipeline_id)) await this.#remove(id, segments)
    }
  }

  /** False for an hour after the clock of the host was set ahead: a wrong time would make everything too old. */
  #isClockTrusted(): boolean {
    const steadyMs = performance.now()
    const aheadMs = this.#parts.now() - steadyMs
    if (this.#aheadMs !== undefined && aheadMs - this.#aheadMs > CLOCK_SET_MS) {
      this.#graceEndsMs = steadyMs + GRACE_MS
      this.#parts.log.warn('clock_set_ahead', { by_ms: Math.round(aheadMs - this.#aheadMs) })
    }
    this.#aheadMs = aheadMs
    return steadyMs >= this.#graceEndsMs
  }

  /** Deletes what a pipeline recorded before a time, whole segments. */
  async removeBefore(pipelineId: string, before: number): Promise<Removed> {
    const { index } = this.#parts
    let removed = { deleted: 0, bytes: 0 }
    await index.flush()
    for (;;) {
      const segments = (await index.ask('oldest', BATCH, pipelineId)).filter(({ ended_at }) => ended_at <= before)
      if (segments.length === 0) return removed
      await this.#remove(pipelineId, segments)
      removed = { deleted: removed.deleted + segments.length, bytes: removed.bytes + segments.reduce((sum, { bytes }) => sum + bytes, 0) }
    }
  }

  async #remove(pipelineId: string, segments: Segments): Promise<void> {
    const { folderOf, index, log } = this.#parts
    const folder = folderOf(pipelineId)
    for (const [day, ofDay] of Map.groupBy(segments, ({ started_at }) => segmentPlace(started_at).day)) {
      // On a full disk the line cannot be written, but the files must go all the same.
      await folder
        .removing(day, ofDay.at(-1)?.started_at ?? 0)
        .catch((error: unknown) => log.warn('removal_not_in_chain', { pipeline_id: pipelineId, day, error }))
      for (const { started_at } of ofDay) await unlink(folder.fileOf(started_at)).catch(unlessMissing)
      await this.#removeEmptyDay(folder, day, ofDay.at(-1)?.started_at ?? 0)
    }
    const starts = segments.map(({ started_at }) => started_at)
    await index.ask('remove', pipelineId, starts)
    if (performance.now() - this.#forgotMs < FORGET_EVERY_MS) return
    this.#forgotMs = performance.now()
    await index.ask('forgetSeen', pipelineId, Math.floor((starts.at(-1) ?? 0) / 1000))
  }

  /** The chain of a day goes with its last file, unless that day is still recorded. */
  async #removeEmptyDay(folder: PipelineFolder, day: string, startedAt: number): Promise<void> {
    if (day >= new Date(this.#parts.now()).toISOString().slice(0, 10)) return
    try {
      await rmdir(dirname(folder.fileOf(startedAt)))
      await unlink(join(folder.path, chainFile(day)))
    } catch {
      // It is not empty.
    }
  }

  async #freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#parts.folder)
    return bavail * bsize
  }
}

type Segments = { readonly pipeline_id: string; readonly started_at: number; readonly ended_at: number; readonly bytes: number }[]

const unlessMissing = (error: unknown): void => {
  if (!isMissing(error)) throw error
}
