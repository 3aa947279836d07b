import { mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord } from '../../lib/json/is-record.ts'
import type { Segment } from '../../lib/segments/segment.ts'
import { segmentPlace } from '../../lib/segments/segment-name.ts'
import { PART_SUFFIX } from '../screenshots/files/atomic-write.ts'
import { ChainLog } from './chain-log.ts'
import type { WrittenFile } from './segment-file.ts'
import type { SigningKey } from './signing-key.ts'

/** What must be known of a segment to complete it after a crash. */
export interface OpenSegment {
  readonly started_at: number
  readonly span: number
  readonly run: string
  readonly format: string
}

interface Completed {
  readonly segment: Segment
  readonly file: WrittenFile
}

/** Names the segments that are not in the chain yet, so that the next process knows which files it may add. */
const OPEN_FILE = '.open'
/** Segments that wait for a chain that cannot be written. */
const MAX_UNCHAINED = 10_000

/** The folder of one pipeline: its chains, and the list of its segments that are not in them yet. Its files change one after the other. */
export class PipelineFolder {
  readonly id: string
  readonly path: string
  readonly #chain: ChainLog
  readonly #key: SigningKey
  readonly #open = new Map<number, OpenSegment>()
  #unchained: Completed[] = []
  #queue: Promise<unknown> = Promise.resolve()

  constructor(id: string, path: string, key: SigningKey) {
    this.id = id
    this.path = path
    this.#key = key
    this.#chain = new ChainLog(path, key)
  }

  fileOf(startedAt: number): string {
    const { day, name } = segmentPlace(startedAt)
    return join(this.path, day, name)
  }

  /** A segment begins. Without a list of open segments, which is written where the disk takes it, the segment would be unknown after a crash. */
  opened(segment: OpenSegment): Promise<void> {
    this.#open.set(segment.started_at, segment)
    return this.#inTurn(() => this.#writeOpen())
  }

  /** Adds a complete segment to the chain. Rejects when that cannot be written; it is then tried with the next one. */
  completed(completed: Completed): Promise<void> {
    return this.#inTurn(async () => {
      this.#unchained = [...this.#unchained, completed].slice(-MAX_UNCHAINED)
      for (let [next] = this.#unchained; next !== undefined; [next] = this.#unchained) {
        await this.#chain.append(segmentPlace(next.segment.started_at).day, lineOf(next))
        this.#unchained.shift()
        this.#open.delete(next.segment.started_at)
      }
      // What it names counts as being written.
      await this.#writeOpen().catch(() => {})
    })
  }

  /** Whether a segment is still being written. */
  isOpen(startedAt: number): boolean {
    return this.#open.has(startedAt)
  }

  /** Nothing of a segment was written. */
  discarded(startedAt: number): void {
    this.#open.delete(startedAt)
  }

  /** States in the chain of a day that everything up to a segment is removed; then it may be removed. */
  removing(day: string, lastStartedAt: number): Promise<void> {
    const removed = segmentPlace(lastStartedAt).name
    return this.#inTurn(() => this.#chain.append(day, { pipeline_id: this.id, removed }))
  }

  /** The segments that an earlier process has left open. */
  async leftOpen(): Promise<readonly OpenSegment[]> {
    const text = await readFile(join(this.path, OPEN_FILE), 'utf8').catch(() => '')
    try {
      const value: unknown = JSON.parse(text)
      if (!isRecord(value) || typeof value.segments !== 'string' || value.signature !== this.#key.sign(this.#signedOpen(value.segments)))
        return []
      return JSON.parse(value.segments) as OpenSegment[]
    } catch {
      return []
    }
  }

  async #writeOpen(): Promise<void> {
    if (this.#open.size === 0) {
      await unlink(join(this.path, OPEN_FILE))
      return
    }
    const segments = JSON.stringify([...this.#open.values()])
    await mkdir(this.path, { recursive: true, mode: 0o700 })
    const text = JSON.stringify({ segments, signature: this.#key.sign(this.#signedOpen(segments)) })
    // Not flushed: what a power failure takes of it, it takes of the segments as well.
    const path = join(this.path, OPEN_FILE)
    await writeFile(`${path}${PART_SUFFIX}`, text, { mode: 0o600 })
    await rename(`${path}${PART_SUFFIX}`, path)
  }

  #signedOpen(segments: string): string {
    return `open ${this.id} ${segments}`
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => {})
    return done
  }
}

/** What the chain says of a segment: enough to make its row of the index again. */
const lineOf = ({ segment: { started_at, ended_at, ...facts }, file }: Completed) => {
  const { pipeline_id, bytes: _, ...others } = facts
  return {
    pipeline_id,
    segment: segmentPlace(started_at).name,
    bytes: file.bytes,
    sha256: file.sha256,
    from: new Date(started_at).toISOString(),
    to: new Date(ended_at).toISOString(),
    ...others,
  }
}
