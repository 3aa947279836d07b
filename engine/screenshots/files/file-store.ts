import type { FileHandle } from 'node:fs/promises'
import type { Log } from '../../../lib/ports.ts'
import type { Geolocation } from '../../../lib/schema/pipeline.ts'
import { type ScreenshotFile, screenshotNotFound } from '../../../lib/schema/screenshot.ts'
import { encodeExif } from '../jpeg/exif.ts'
import { withExif } from '../jpeg/jpeg.ts'
import type { JpegMetadata } from '../jpeg/metadata.ts'
import { errorCode } from './disk-error.ts'
import { FileIndex, type FileQuery, type IndexedFile } from './file-index.ts'
import { formatFileName } from './file-name.ts'
import { inParallel, ScreenshotFolder } from './screenshot-folder.ts'

export interface Retention {
  readonly max_files: number
  readonly max_megabytes: number
}

interface NewScreenshot {
  readonly pipelineId: string
  /** Arrival of the frame that it shows, milliseconds since the epoch. */
  readonly createdAt: number
  readonly jpeg: Buffer
  readonly width: number
  readonly height: number
  readonly geolocation: Geolocation | null
}

interface OpenFile {
  readonly file: IndexedFile
  readonly handle: FileHandle
}

const MEGABYTE = 1_000_000
/** How far a time may be moved to make it unique, milliseconds. */
const MAX_TIME_SHIFT_MS = 1000
/** How often a page is filled up after files that cannot be read. */
const MAX_ROUNDS = 10

/** The screenshot files of one folder, with retention. Reads come from the index, which lists only complete files. */
export class FileStore {
  readonly #folder: ScreenshotFolder
  readonly #retention: () => Retention
  readonly #log: Log
  readonly #index = new FileIndex()
  readonly #reserved = new Set<number>()
  #opened: Promise<void> | undefined
  #trimming: Promise<void> | undefined

  constructor(options: { readonly folder: string; readonly retention: () => Retention; readonly log: Log }) {
    this.#folder = new ScreenshotFolder(options.folder)
    this.#retention = options.retention
    this.#log = options.log
  }

  /** Indexes the folder, once; after an error the next call tries again. */
  open(): Promise<void> {
    this.#opened ??= this.#indexFolder().catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  /** Stores a screenshot with time and geolocation in its Exif. Throws the file system's error. */
  async put(screenshot: NewScreenshot): Promise<ScreenshotFile> {
    await this.open()
    const createdAt = this.#reserveTime(screenshot.createdAt)
    try {
      const { pipelineId, width, height, geolocation } = screenshot
      const name = formatFileName({ pipelineId, createdAt })
      const bytes = withExif(screenshot.jpeg, encodeExif(createdAt, { width, height }, geolocation))
      await this.#folder.write(name, bytes)
      const metadata = { width, height, geolocation }
      const file: IndexedFile = { name, pipelineId, createdAt, bytes: bytes.length, metadata }
      this.#index.add(file)
      void this.trim()
      return toRecord(file, metadata)
    } finally {
      this.#reserved.delete(createdAt)
    }
  }

  /** A page of files, the newest first; one that is not full is the last one, unless many files cannot be read. */
  async list({ limit, ...query }: FileQuery): Promise<readonly ScreenshotFile[]> {
    await this.open()
    const records: ScreenshotFile[] = []
    let { before } = query
    for (let round = 0; round < MAX_ROUNDS && records.length < limit; round += 1) {
      const files = this.#index.list({ ...query, before, limit: limit - records.length })
      await inParallel(
        files.filter(({ metadata }) => metadata === undefined),
        (file) => this.#readMetadata(file),
      )
      // Files that cannot be read are left out.
      records.push(...files.flatMap((file) => (file.metadata === undefined ? [] : [toRecord(file, file.metadata)])))
      before = files.at(-1)?.createdAt
      if (before === undefined) break
    }
    return records
  }

  /** Opens a listed file; the caller closes it. NOT_FOUND for every other name; throws the file system's error when it cannot be read. */
  async openFile(name: string): Promise<OpenFile> {
    await this.open()
    const file = this.#index.get(name)
    if (file === undefined) throw screenshotNotFound()
    try {
      return { file, handle: await this.#folder.open(name) }
    } catch (error) {
      this.#onUnreadable(name, error)
      throw isGone(error) ? screenshotNotFound() : error
    }
  }

  /** Deletes a listed file. NOT_FOUND for every other name; throws the file system's error when it cannot be deleted. */
  async remove(name: string): Promise<void> {
    await this.open()
    if (this.#index.get(name) === undefined) throw screenshotNotFound()
    await this.#folder.remove(name)
    this.#index.remove(name)
  }

  /** Deletes the files of a pipeline and returns their number; throws the file system's error when one cannot be deleted. */
  async removeOf(pipelineId: string): Promise<number> {
    await this.open()
    const files = this.#index.list({ pipelineId, limit: Number.POSITIVE_INFINITY })
    const removed = new Set<IndexedFile>()
    try {
      await inParallel(files, async (file) => {
        await this.#folder.remove(file.name)
        removed.add(file)
      })
    } finally {
      this.#index.removeMany(pipelineId, removed)
    }
    return removed.size
  }

  /** Deletes the oldest files until number and size are within the retention limits. Never rejects. */
  trim(): Promise<void> {
    this.#trimming ??= this.#trim()
      .catch((error: unknown) => this.#log.warn('screenshots_not_trimmed', { error }))
      .finally(() => {
        this.#trimming = undefined
      })
    return this.#trimming
  }

  async #indexFolder(): Promise<void> {
    await this.#folder.create()
    this.#index.fill(await this.#folder.scan())
    this.#log.info('screenshots_indexed', { files: this.#index.count, bytes: this.#index.bytes })
  }

  async #trim(): Promise<void> {
    await this.open()
    for (let { oldest } = this.#index; oldest !== undefined && this.#isOverLimit(); oldest = this.#index.oldest) {
      await this.#folder.remove(oldest.name)
      this.#index.remove(oldest.name)
    }
  }

  #isOverLimit(): boolean {
    const { max_files, max_megabytes } = this.#retention()
    // The newest file stays, however small the limits.
    return this.#index.count > 1 && (this.#index.count > max_files || this.#index.bytes > max_megabytes * MEGABYTE)
  }

  /** Reads the metadata of a file that an earlier process wrote. */
  async #readMetadata(file: IndexedFile): Promise<void> {
    try {
      file.metadata = await this.#folder.readMetadata(file.name)
    } catch (error) {
      this.#onUnreadable(file.name, error)
    }
  }

  /** Drops a file that was deleted, or replaced by a link, from the index. */
  #onUnreadable(name: string, error: unknown): void {
    if (isGone(error)) this.#index.remove(name)
    else this.#log.warn('screenshot_unreadable', { file: name, error })
  }

  /** Times of files are unique, so that a page can begin where the previous one ended. */
  #reserveTime(requested: number): number {
    let time = requested
    while (time < requested + MAX_TIME_SHIFT_MS && (this.#reserved.has(time) || this.#index.hasTime(time))) time += 1
    this.#reserved.add(time)
    return time
  }
}

const isGone = (error: unknown): boolean => ['ENOENT', 'ELOOP'].includes(errorCode(error) ?? '')

const toRecord = ({ name, pipelineId, createdAt, bytes }: IndexedFile, metadata: JpegMetadata): ScreenshotFile => ({
  file: name,
  pipeline_id: pipelineId,
  created_at: new Date(createdAt).toISOString(),
  size_bytes: bytes,
  ...metadata,
})
