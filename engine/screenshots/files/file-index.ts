import type { JpegMetadata } from '../jpeg/metadata.ts'
import type { FileName } from './file-name.ts'

/** A stored screenshot. `metadata` is read from the file's head when it is first listed. */
export interface IndexedFile extends FileName {
  readonly name: string
  readonly bytes: number
  metadata?: JpegMetadata | undefined
}

export interface FileQuery {
  readonly pipelineId?: string | undefined
  /** Only files older than this, milliseconds since the epoch. */
  readonly before?: number | undefined
  readonly limit: number
}

/** The files sorted by time, in total and per pipeline: the cost of a page depends on its length only. */
export class FileIndex {
  readonly #byName = new Map<string, IndexedFile>()
  readonly #byPipeline = new Map<string, IndexedFile[]>()
  #all: IndexedFile[] = []
  #bytes = 0

  get count(): number {
    return this.#byName.size
  }

  get bytes(): number {
    return this.#bytes
  }

  get oldest(): IndexedFile | undefined {
    return this.#all[0]
  }

  get(name: string): IndexedFile | undefined {
    return this.#byName.get(name)
  }

  /** Adds many files in any order, with one sort instead of an insertion per file. */
  fill(files: readonly IndexedFile[]): void {
    const known = this.#all
    this.#all = []
    this.#byPipeline.clear()
    this.#byName.clear()
    this.#bytes = 0
    for (const file of [...known, ...files].sort((one, other) => one.createdAt - other.createdAt)) this.add(file)
  }

  /** Adds a file, or replaces the one of the same name. */
  add(file: IndexedFile): void {
    this.remove(file.name)
    this.#byName.set(file.name, file)
    this.#bytes += file.bytes
    insert(this.#all, file)
    const own = this.#byPipeline.get(file.pipelineId) ?? []
    this.#byPipeline.set(file.pipelineId, own)
    insert(own, file)
  }

  remove(name: string): boolean {
    const file = this.#byName.get(name)
    if (file === undefined) return false
    this.#byName.delete(name)
    this.#bytes -= file.bytes
    take(this.#all, file)
    const own = this.#byPipeline.get(file.pipelineId)
    if (own === undefined) return true
    take(own, file)
    if (own.length === 0) this.#byPipeline.delete(file.pipelineId)
    return true
  }

  /** Removes many files of a pipeline at once. */
  removeMany(pipelineId: string, files: ReadonlySet<IndexedFile>): void {
    const kept = (this.#byPipeline.get(pipelineId) ?? []).filter((file) => !files.has(file))
    if (kept.length > 0) this.#byPipeline.set(pipelineId, kept)
    else this.#byPipeline.delete(pipelineId)
    this.#all = this.#all.filter((file) => !files.has(file))
    for (const file of files) {
      if (this.#byName.get(file.name) !== file) continue
      this.#byName.delete(file.name)
      this.#bytes -= file.bytes
    }
  }

  /** Whether a file of any pipeline has this time. */
  hasTime(createdAt: number): boolean {
    return this.#all[firstNotBefore(this.#all, createdAt)]?.createdAt === createdAt
  }

  /** A page of files, the newest first. */
  list({ pipelineId, before, limit }: FileQuery): readonly IndexedFile[] {
    const files = pipelineId === undefined ? this.#all : (this.#byPipeline.get(pipelineId) ?? [])
    const end = before === undefined ? files.length : firstNotBefore(files, before)
    return files.slice(Math.max(0, end - limit), end).reverse()
  }
}

/** Position of the first file of this time or a later one. */
const firstNotBefore = (files: readonly IndexedFile[], createdAt: number): number => {
  let [low, high] = [0, files.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((files[middle]?.createdAt ?? 0) < createdAt) low = middle + 1
    else high = middle
  }
  return low
}

const insert = (files: IndexedFile[], file: IndexedFile): void => {
  const newest = files.at(-1)
  if (newest === undefined || newest.createdAt <= file.createdAt) files.push(file)
  else files.splice(firstNotBefore(files, file.createdAt + 1), 0, file)
}

const take = (files: IndexedFile[], file: IndexedFile): void => {
  let at = firstNotBefore(files, file.createdAt)
  while (at < files.length && files[at] !== file) at += 1
  if (at === 0) files.shift()
  else if (at < files.length) files.splice(at, 1)
}
