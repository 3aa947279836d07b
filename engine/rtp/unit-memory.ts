import type { AccessUnit } from './access-unit.ts'

/** Blocks of memory: as large as all before them together, within these bounds, or as a larger unit. */
const [MIN_BLOCK_BYTES, MAX_BLOCK_BYTES] = [4 * 1024, 256 * 1024]

/**
 * Memory in which copies of units are kept, used again and again. Units of seconds that had memory of their own would make V8 mark its
 * whole heap each second: they live too long for its collection of new objects.
 */
export class UnitMemory {
  #blocks: Buffer[] = []
  /** The block in use, and how much of it is. */
  #at = 0
  #used = 0
  #isShared = false

  /** A copy, which is valid until `clear`; for ever when `share` is called before that. */
  keep(unit: AccessUnit): AccessUnit {
    return unit.copiedTo(this.#take(unit.framedBytes))
  }

  /** Somebody may read what is there at any later time: this memory is not used again. */
  share(): void {
    this.#isShared = true
  }

  /** Keeps nothing any more, and as many blocks as there was need of. */
  clear(): void {
    this.#blocks = this.#isShared ? [] : this.#blocks.slice(0, this.#at + 1)
    this.#at = 0
    this.#used = 0
    this.#isShared = false
  }

  #take(bytes: number): Buffer {
    for (; this.#at < this.#blocks.length; this.#at += 1) {
      const block = this.#blocks[this.#at]
      if (block !== undefined && this.#used + bytes <= block.length) return this.#next(block, bytes)
      this.#used = 0
    }
    const before = this.#blocks.reduce((sum, { length }) => sum + length, 0)
    const block = Buffer.allocUnsafeSlow(Math.max(bytes, Math.min(MAX_BLOCK_BYTES, Math.max(MIN_BLOCK_BYTES, before))))
    this.#blocks.push(block)
    return this.#next(block, bytes)
  }

  #next(block: Buffer, bytes: number): Buffer {
    const taken = block.subarray(this.#used, this.#used + bytes)
    this.#used += bytes
    return taken
  }
}
