/** Collects bytes that arrive in parts, up to a maximum; copies them, so that the parts may be reused. */
export class ByteAccumulator {
  readonly #max: number
  #bytes = new Uint8Array(0)
  #length = 0

  constructor(max: number) {
    this.#max = max
  }

  get length(): number {
    return this.#length
  }

  /** Returns false and drops all bytes when the maximum would be exceeded. */
  append(part: Uint8Array): boolean {
    const needed = this.#length + part.length
    if (needed > this.#max) {
      this.reset()
      return false
    }
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.min(this.#max, Math.max(needed, this.#bytes.length * 2)))
      grown.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = grown
    }
    this.#bytes.set(part, this.#length)
    this.#length = needed
    return true
  }

  /** Returns all bytes and starts empty. */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.#length)
    this.reset()
    return bytes
  }

  reset(): void {
    this.#bytes = new Uint8Array(0)
    this.#length = 0
  }
}
