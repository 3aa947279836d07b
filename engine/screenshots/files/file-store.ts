import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, opendir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/ports.ts'
import type { Geolocation } from '../../../lib/schema/pipeline.ts'
import type { ScreenshotFile } from '../../../lib/schema/screenshot.ts'
import { encodeExif } from '../jpeg/exif.ts'
import { withExif } from '../jpeg/jpeg.ts'
import { type JpegMetadata, readJpegMetadata } from '../jpeg/metadata.ts'
import { PART_SUFFIX, writeAtomically } from './atomic-write.ts'
import { codeOf } from './disk-error.ts'
import { FileIndex, type FileQuery, type IndexedFile } from './file-index.ts'
import { formatFileName, parseFileName } from './file-name.ts'

export interface Retention {
  readonly max_files: number
  readonly max_megabytes: number
}

export interface NewScreenshot {
  readonly pipelineId: string
  /** When the picture that it shows came from the source, milliseconds since the epoch. */
  readonly createdAt: number
  readonly jpeg: Buffer
  readonly width: number
  readonly height: number
  readonly geolocation: Geolocation | null
}

export interface OpenFile {
  readonly file: IndexedFile
  readonly handle: FileHandle
}

const MEGABYTE = 1_000_000
/** Files looked at together: enough to hide the latency of the disk, few enough to leave the thread pool to others. */
const TOGETHER = 16
/** Our own headers and Exif take less than 1 KiB. */
const HEAD_BYTES = 4096
/** How far a time is moved to be the only one of its millisecond. */
const MAX_NUDGE_MS = 1000

/** The screenshot files in one folder. What is listed is whole; the index, not the folder, is asked. */
export class FileStore {
  readonly #folder: string
  readonly #retention: () => Retention
  readonly #log: Log
  readonly #index = new FileIndex()
  readonly #reserved = new Set<number>()
  #opened: Promise<void> | undefined
  #trimming: Promise<void> | undefined

  constructor(options: { readonly folder: string; readonly retention: () => Retention; readonly log: Log }) {
    this.#folder = options.folder
    this.#retention = options.retention
    this.#log = options.log
  }

  /** Reads the folder, once; a folder that cannot be read is tried again with the next call. */
  open(): Promise<void> {
    this.#opened ??= this.#read().catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  /** Stores a picture under its time, with time and place in its Exif. Throws the file system's error. */
  async put(picture: NewScreenshot): Promise<ScreenshotFile> {
    await this.open()
    const createdAt = this.#freeTime(picture.createdAt)
    try {
      const name = formatFileName({ pipelineId: picture.pipelineId, createdAt })
      const bytes = withExif(picture.jpeg, encodeExif(createdAt, picture.geolocation))
      await this.#write(join(this.#folder, name), bytes)
      const { pipelineId, width, height, geolocation } = picture
      const file: IndexedFile = { name, pipelineId, createdAt, bytes: bytes.length, facts: { width, height, geolocation } }
      this.#index.add(file)
      void this.trim()
      return toRecord(file, { width, height, geolocation })
    } finally {
      this.#reserved.delete(createdAt)
    }
  }

  /** A page of files, the newest first. */
  async list(query: FileQuery): Promise<readonly ScreenshotFile[]> {
    await this.open()
    const files = this.#index.list(query)
    await together(
      files.filter(({ facts }) => facts === undefined),
      (file) => this.#readFacts(file),
    )
    return files.flatMap((file) => (file.facts === undefined ? [] : [toRecord(file, file.facts)]))
  }

  /** Opens a listed file; the caller closes it. NOT_FOUND for every other name. */
  async openFile(name: string): Promise<OpenFile> {
    await this.open()
    const file = this.#index.get(name)
    if (file === undefined) throw unknownFile()
    try {
      return { file, handle: await this.#openIndexed(name) }
    } catch (error) {
      throw this.#missing(name, error)
    }
  }

  /** NOT_FOUND when it is not listed; throws the file system's error when it cannot be deleted. */
  async remove(name: string): Promise<void> {
    await this.open()
    if (this.#index.get(name) === undefined) throw unknownFile()
    await this.#unlink(name)
    this.#index.remove(name)
  }

  /** Deletes the files of a pipeline and answers how many; throws the file system's error when one cannot be deleted. */
  async removeOf(pipelineId: string): Promise<number> {
    await this.open()
    const files = this.#index.list({ pipelineId, limit: Number.POSITIVE_INFINITY })
    const gone = new Set<IndexedFile>()
    try {
      await together(files, async (file) => {
        await this.#unlink(file.name)
        gone.add(file)
      })
    } finally {
      this.#index.removeMany(pipelineId, gone)
    }
    return gone.size
  }

  /** Deletes the oldest files until count and size are within the settings. Never rejects. */
  trim(): Promise<void> {
    this.#trimming ??= this.#trim()
      .catch((error: unknown) => this.#log.warn('screenshots_not_trimmed', { error }))
      .finally(() => {
        this.#trimming = undefined
      })
    return this.#trimming
  }

  async #trim(): Promise<void> {
    await this.open()
    for (let { oldest } = this.#index; oldest !== undefined && this.#isOver(); oldest = this.#index.oldest) {
      await this.#unlink(oldest.name)
      this.#index.remove(oldest.name)
    }
  }

  #isOver(): boolean {
    const { max_files, max_megabytes } = this.#retention()
    // The newest picture stays, however small the allowance.
    return this.#index.count > 1 && (this.#index.count > max_files || this.#index.bytes > max_megabytes * MEGABYTE)
  }

  /** Somebody may have taken the folder away. */
  async #write(path: string, bytes: Buffer): Promise<void> {
    try {
      await writeAtomically(path, bytes)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
      await makeFolder(this.#folder)
      await writeAtomically(path, bytes)
    }
  }

  async #read(): Promise<void> {
    await makeFolder(this.#folder)
    const found: IndexedFile[] = []
    let batch: string[] = []
    const look = async (): Promise<void> => {
      await together(batch, async (name) => {
        const file = await this.#lookAt(name)
        if (file !== undefined) found.push(file)
      })
      batch = []
    }
    for await (const entry of await opendir(this.#folder, { bufferSize: 1024 })) {
      if (!entry.isFile()) continue
      batch.push(entry.name)
      if (batch.length >= 1024) await look()
    }
    await look()
    this.#index.fill(found)
    this.#log.info('screenshots_indexed', { files: this.#index.count, bytes: this.#index.bytes })
  }

  async #lookAt(name: string): Promise<IndexedFile | undefined> {
    // Left by a process that died while it wrote.
    if (name.endsWith(PART_SUFFIX)) return void (await this.#unlink(name).catch(() => {}))
    const parsed = parseFileName(name)
    if (parsed === undefined) return undefined
    const size = await stat(join(this.#folder, name)).then(
      (found) => found.size,
      () => undefined,
    )
    return size === undefined ? undefined : { ...parsed, name, bytes: size }
  }

  /** Reads the head of a file that an earlier process wrote. A file that is gone is forgotten. */
  async #readFacts(file: IndexedFile): Promise<void> {
    try {
      const handle = await this.#openIndexed(file.name)
      try {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
        file.facts = readJpegMetadata(buffer.subarray(0, bytesRead))
      } finally {
        await handle.close()
      }
    } catch (error) {
      this.#missing(file.name, error)
    }
  }

  // A link that somebody put in the place of a file must not lead out of the folder.
  #openIndexed(name: string): Promise<FileHandle> {
    return open(join(this.#folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  }

  #missing(name: string, error: unknown): ApiError {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ELOOP') this.#index.remove(name)
    else this.#log.warn('screenshot_unreadable', { file: name, error })
    return unknownFile()
  }

  async #unlink(name: string): Promise<void> {
    await unlink(join(this.#folder, name)).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error
    })
  }

  /** The times of files are unique, so that a page can begin where the one before ended. */
  #freeTime(wanted: number): number {
    let time = wanted
    while (time < wanted + MAX_NUDGE_MS && (this.#reserved.has(time) || this.#index.hasTime(time))) time += 1
    this.#reserved.add(time)
    return time
  }
}

const makeFolder = (folder: string) => mkdir(folder, { recursive: true, mode: 0o700 })

const toRecord = ({ name, pipelineId, createdAt, bytes }: IndexedFile, facts: JpegMetadata): ScreenshotFile => ({
  file: name,
  pipeline_id: pipelineId,
  created_at: new Date(createdAt).toISOString(),
  size_bytes: bytes,
  ...facts,
})

/** Goes through the items, `TOGETHER` at a time. */
const together = async <T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> => {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: TOGETHER }, async () => {
      for (const item of queue) await work(item)
    }),
  )
}

const unknownFile = (): ApiError => new ApiError('NOT_FOUND', 'There is no such screenshot.')
