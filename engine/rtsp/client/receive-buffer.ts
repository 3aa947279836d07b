/** A key frame of 8 Mbit/s is as large. */
const BYTES = 64 * 1024
/** A read may bring as much. */
const LEAST_BYTES = 16 * 1024

/**
 * Where a connection puts what it reads, chunk behind chunk, until none of it is needed any more: then the next one begins at the
 * start again. A buffer that is full is left to those who hold parts of it.
 */
export class ReceiveBuffer {
  #buffer = Buffer.allocUnsafeSlow(BYTES)
  #used = 0

  /** Room for the next chunk. */
  readonly room = (): Buffer => {
    if (BYTES - this.#used < LEAST_BYTES) {
      this.#buffer = Buffer.allocUnsafeSlow(BYTES)
      this.#used = 0
    }
    return this.#buffer.subarray(this.#used)
  }

  /** The chunk that has come into that room. */
  take(bytes: number): Buffer {
    const chunk = this.#buffer.subarray(this.#used, this.#used + bytes)
    this.#used += bytes
    return chunk
  }

  /** Nobody needs the chunks any more: others take their place. */
  reuse(): void {
    this.#used = 0
  }
}
