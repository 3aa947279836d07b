import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, opendir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type JpegMetadata, readJpegMetadata } from '../jpeg/metadata.ts'
import { PART_SUFFIX, writeAtomically } from './atomic-write.ts'
import { errorCode } from './disk-error.ts'
import type { IndexedFile } from './file-index.ts'
import { parseFileName } from './file-name.ts'

/** Files processed at once: enough to hide the latency of the disk, few enough to leave the thread pool to others. */
const CONCURRENCY = 16
/** Directory entries read before their files are examined. */
const BATCH = 1024
/** The headers and the Exif that the engine writes take less than 1 KiB. */
const HEAD_BYTES = 4096

/** The folder of screenshot files on the disk. All methods reject with the file system's error. */
export class ScreenshotFolder {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** Creates the folder if it is missing. */
  async create(): Promise<void> {
    await mkdir(this.#path, { recursive: true, mode: 0o700 })
  }

  /** Lists the screenshot files in any order, and deletes partial ones that a previous process left. */
  async scan(): Promise<readonly IndexedFile[]> {
    const found: IndexedFile[] = []
    let batch: string[] = []
    const scanBatch = async (): Promise<void> => {
      await inParallel(batch, async (name) => {
        const file = await this.#scanFile(name)
        if (file !== undefined) found.push(file)
      })
      batch = []
    }
    for await (const entry of await opendir(this.#path, { bufferSize: BATCH })) {
      if (!entry.isFile()) continue
      batch.push(entry.name)
      if (batch.length >= BATCH) await scanBatch()
    }
    await scanBatch()
    return found
  }

  /** Writes a file, complete or not at all. Creates the folder again if it was removed. */
  async write(name: string, bytes: Buffer): Promise<void> {
    const path = join(this.#path, name)
    try {
      await writeAtomically(path, bytes)
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
      await this.create()
      await writeAtomically(path, bytes)
    }
  }

  /** Opens a file for reading; does not follow a link that replaced it. */
  open(name: string): Promise<FileHandle> {
    return open(join(this.#path, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  }

  /** Reads the metadata in the head of a file. */
  async readMetadata(name: string): Promise<JpegMetadata> {
    const handle = await this.open(name)
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
      return readJpegMetadata(buffer.subarray(0, bytesRead))
    } finally {
      await handle.close()
    }
  }

  /** Deletes a file, if it exists. */
  async remove(name: string): Promise<void> {
    await unlink(join(this.#path, name)).catch((error: unknown) => {
      if (errorCode(error) !== 'ENOENT') throw error
    })
  }

  async #scanFile(name: string): Promise<IndexedFile | undefined> {
    if (name.endsWith(PART_SUFFIX)) return void (await this.remove(name).catch(() => {}))
    const parsed = parseFileName(name)
    if (parsed === undefined) return undefined
    const size = await stat(join(this.#path, name)).then(
      (found) => found.size,
      () => undefined,
    )
    return size === undefined ? undefined : { ...parsed, name, bytes: size }
  }
}

/** Runs the work for each item, several at once. Rejects with the first error. */
export const inParallel = async <T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> => {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const item of queue) await work(item)
    }),
  )
}
