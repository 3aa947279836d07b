import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Slots } from '../../lib/slots.ts'
import { PACKET_BYTES } from '../mpegts/ts-muxer.ts'
import { errorCode } from '../screenshots/files/disk-error.ts'

/** Buffers of one writev(2): Linux takes 1024. */
const MAX_BUFFERS = 512

/** Bytes of a block: a second of video has several. */
const BLOCK_BYTES = 64 * 1024
/** More blocks that are free are left to the garbage collector. */
const MAX_FREE = 128

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** What a complete file holds. */
export interface WrittenFile {
  readonly bytes: number
  /** In hexadecimal. */
  readonly sha256: string
}

/**
 * Memory in which media wait for the disk, used again and again. Buffers of their own would live long enough to be freed only when V8
 * looks through its whole heap, which it would then do every second.
 */
export class DiskBlocks {
  readonly #free: Buffer[] = []

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
  }

  /** Nothing reads or writes the block any more. */
  give(block: Buffer): void {
    if (this.#free.length < MAX_FREE) this.#free.push(block)
  }
}

interface SegmentFileParts {
  readonly disk: Slots
  readonly blocks: DiskBlocks
  /** The file is made after it. */
  readonly announced: Promise<void>
}

/** A block with what was pushed. */
interface Filled {
  readonly block: Buffer
  bytes: number
}

/**
 * A segment that is being written. What is pushed waits in blocks until `flush`, which hands all of them to the disk. One write runs at a
 * time, so that a slow disk holds up nothing but this file.
 */
export class SegmentFile {
  readonly #path: string
  readonly #disk: Slots
  readonly #blocks: DiskBlocks
  readonly #announced: Promise<void>
  readonly #hash: Hash = createHash('sha256')
  #handle: FileHandle | undefined
  #pending: Filled[] = []
  #pendingBytes = 0
  #writing: Promise<void> | undefined
  #written = 0
  #error: unknown

  constructor(path: string, { disk, blocks, announced }: SegmentFileParts) {
    this.#path = path
    this.#disk = disk
    this.#blocks = blocks
    this.#announced = announced
  }

  /** Bytes in memory: those that wait and those of the present write. */
  get queuedBytes(): number {
    return this.#pendingBytes
  }

  /** Bytes that the disk has taken: whole access units, but while a write fails. */
  get writtenBytes(): number {
    return this.#written
  }

  /** Why nothing more is written; the file ends with the last whole write. */
  get error(): unknown {
    return this.#error
  }

  push(packets: Buffer): void {
    if (this.#error !== undefined) return
    this.#pendingBytes += packets.length
    for (let at = 0; at < packets.length; ) {
      const last = this.#pending.at(-1)
      const filled = last === undefined || last.bytes === BLOCK_BYTES ? this.#nextBlock() : last
      const taken = packets.copy(filled.block, filled.bytes, at)
      filled.bytes += taken
      at += taken
    }
  }

  /** Writes what waits, unless a write is under way. Never rejects. */
  flush(): Promise<void> {
    if (this.#writing === undefined && this.#pending.length > 0 && this.#error === undefined) {
      this.#writing = this.#disk
        .run(async () => {
          await this.#announced
          await this.#write()
        })
        .catch((error: unknown) => {
          this.#error = error
          this.#pending = []
          this.#pendingBytes = 0
        })
        .finally(() => {
          this.#writing = undefined
        })
    }
    return this.#writing ?? Promise.resolve()
  }

  /** Writes the rest, and waits until the disk has all of it. Undefined when nothing could be written; then there is no file. */
  async close(): Promise<WrittenFile | undefined> {
    while (this.#writing !== undefined || (this.#pending.length > 0 && this.#error === undefined)) await this.flush()
    return this.#disk.run(() => this.#end())
  }

  /** Gives up what was not written yet. */
  abandon(error: unknown): void {
    this.#error ??= error
    this.#pending = []
    this.#pendingBytes = 0
  }

  #nextBlock(): Filled {
    const filled = { block: this.#blocks.take(), bytes: 0 }
    this.#pending.push(filled)
    return filled
  }

  async #write(): Promise<void> {
    const handle = this.#handle ?? (await this.#create())
    this.#handle = handle
    // A file that was removed would go on taking writes.
    if ((await handle.stat()).nlink === 0) throw Object.assign(new Error('the file was removed'), { code: 'ENOENT', errno: -2 })
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, MAX_BUFFERS)
      const buffers = batch.map(({ block, bytes }) => block.subarray(0, bytes))
      await this.#writeAll(handle, buffers)
      for (const packets of buffers) {
        this.#hash.update(packets)
        this.#written += packets.length
        this.#pendingBytes -= packets.length
      }
      for (const { block } of batch) this.#blocks.give(block)
    }
  }

  async #create(): Promise<FileHandle> {
    try {
      return await open(this.#path, CREATE, 0o600)
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
      return open(this.#path, CREATE, 0o600)
    }
  }

  /** A disk that is nearly full takes a part of it, and fails with the next write. */
  async #writeAll(handle: FileHandle, batch: readonly Buffer[]): Promise<void> {
    let rest: readonly Buffer[] = batch
    for (let at = this.#written; rest.length > 0; ) {
      const { bytesWritten } = await handle.writev(rest, at)
      at += bytesWritten
      rest = without(rest, bytesWritten)
    }
  }

  async #end(): Promise<WrittenFile | undefined> {
    const handle = this.#handle
    if (handle === undefined) return undefined
    try {
      if (this.#error !== undefined) await handle.truncate(this.#written - (this.#written % PACKET_BYTES)).catch(() => {})
      if (this.#written > 0) await handle.datasync()
    } finally {
      await handle.close().catch(() => {})
    }
    if (this.#written > 0) return { bytes: this.#written, sha256: this.#hash.digest('hex') }
    await unlink(this.#path).catch(() => {})
    return undefined
  }
}

const without = (buffers: readonly Buffer[], bytes: number): readonly Buffer[] => {
  let left = bytes
  const rest: Buffer[] = []
  for (const buffer of buffers) {
    if (left < buffer.length) rest.push(left === 0 ? buffer : buffer.subarray(left))
    left = Math.max(0, left - buffer.length)
  }
  return rest
}
