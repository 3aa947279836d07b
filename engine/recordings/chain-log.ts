import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { lineToSign, readLine, signedLine, type UnsignedLine } from '../../lib/segments/chain.ts'
import { isDay } from '../../lib/segments/segment-name.ts'
import { errorCode } from '../screenshots/files/disk-error.ts'
import type { SigningKey } from './signing-key.ts'

const SUFFIX = '.chain'
const APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW
/** A line is shorter: one second with a footprint takes some 70 bytes of it. */
const TAIL_BYTES = 256 * 1024

export const chainFile = (day: string): string => `${day}${SUFFIX}`

/** The day of a chain's file; undefined for other files. */
const chainDay = (name: string): string | undefined => {
  const day = name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : ''
  return isDay(day) ? day : undefined
}

interface ChainEnd {
  /** Bytes of whole lines. */
  readonly end: number
  /** Hash of the last one. */
  readonly last: string | undefined
}

/** Appends to the chains of one pipeline, a whole line at a time. Calls must not overlap. */
export class ChainLog {
  readonly #folder: string
  readonly #key: SigningKey
  /** Where the chain of a day ends, once it is known. */
  readonly #ends = new Map<string, ChainEnd>()

  /** `folder`: of the pipeline. */
  constructor(folder: string, key: SigningKey) {
    this.#folder = folder
    this.#key = key
  }

  /** Adds a line, which is on the disk when this resolves; rejects with the file system's error, and leaves the chain as it was. */
  async append(day: string, facts: Omit<UnsignedLine, 'previous'>): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const handle = await open(join(this.#folder, chainFile(day)), APPEND, 0o600)
    try {
      const { size } = await handle.stat()
      const known = this.#ends.get(day)
      // A file that was replaced meanwhile goes on from its own last line.
      const { end, last } = known?.end === size ? known : await chainEnd(handle, size)
      if (end < size) await handle.truncate(end)
      const previous = last ?? (await this.#lastBefore(day))
      const signed = lineToSign({ ...facts, previous } as UnsignedLine)
      const line = signedLine(signed, this.#key.sign(signed))
      const bytes = Buffer.from(`${line}\n`)
      await this.#write(handle, bytes, end)
      this.#ends.set(day, { end: end + bytes.length, last: hashOf(line) })
    } finally {
      await handle.close()
    }
  }

  /** The days that have a chain, the oldest first. */
  async days(): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch(() => [])
    return names.flatMap((name) => chainDay(name) ?? []).sort()
  }

  async #write(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
    try {
      const { bytesWritten } = await handle.write(bytes, 0, bytes.length, at)
      if (bytesWritten < bytes.length) throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC', errno: -28 })
      await handle.datasync()
    } catch (error) {
      await handle.truncate(at).catch(() => {})
      throw error
    }
  }

  async #lastBefore(day: string): Promise<string | null> {
    const before = (await this.days()).filter((other) => other < day).at(-1)
    if (before === undefined) return null
    const handle = await open(join(this.#folder, chainFile(before)), constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      return (await chainEnd(handle, (await handle.stat()).size)).last ?? null
    } finally {
      await handle.close()
    }
  }
}

/** Where the last whole line ends, after which a power failure may have left a part of one, and its hash; undefined without a line. */
const chainEnd = async (handle: FileHandle, size: number): Promise<ChainEnd> => {
  const from = Math.max(0, size - TAIL_BYTES)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from)
  const tail = buffer.subarray(0, bytesRead)
  const newline = tail.lastIndexOf(0x0a)
  if (newline === -1) return { end: 0, last: undefined }
  const begin = newline === 0 ? 0 : tail.lastIndexOf(0x0a, newline - 1) + 1
  return { end: from + newline + 1, last: hashOf(tail.toString('utf8', begin, newline)) }
}

const hashOf = (line: string): string => createHash('sha256').update(line).digest('hex')

/** The lines of a chain that can be read. */
export const readChain = (text: string) => text.split('\n').flatMap((line) => readLine(line)?.line ?? [])

export const isMissing = (error: unknown): boolean => errorCode(error) === 'ENOENT'
