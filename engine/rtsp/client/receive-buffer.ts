/** The size of a key frame at 8 Mbit/s. */
const BYTES = 64 * 1024
/** Least room for a read. */
const LEAST_BYTES = 16 * 1024
/** Full buffers that are kept until they can be used again: new memory makes V8 mark its whole heap ever more often. */
const MOST_KEPT = 4

/**
 * The memory that a connection reads into, one chunk after the other. When no chunk is needed any more, the next one begins at the start
 * again. A full buffer is replaced by another, since parts of it may still be in use.
 */
export class ReceiveBuffer {
  #buffer: Buffer = Buffer.allocUnsafeSlow(BYTES)
  #used = 0
  /** Parts of them may still be in use. */
  #full: Buffer[] = []
  #free: Buffer[] = []

  /** Room for the next chunk. */
  readonly room = (): Buffer => {
    if (BYTES - this.#used < LEAST_BYTES) {
      if (this.#full.length < MOST_KEPT) this.#full.push(this.#buffer)
      this.#buffer = this.#free.pop() ?? Buffer.allocUnsafeSlow(BYTES)
      this.#used = 0
    }
    return this.#buffer.subarray(this.#used)
  }

  /** The chunk that was read into that room. */
  take(bytes: number): Buffer {
    const chunk = this.#buffer.subarray(this.#used, this.#used + bytes)
    this.#used += bytes
    return chunk
  }

  /** The chunks are no longer needed. */
  reuse(): void {
    this.#used = 0
    if (this.#full.length === 0) return
    this.#free = [...this.#free, ...this.#full].slice(0, MOST_KEPT)
    this.#full = []
  }
}
