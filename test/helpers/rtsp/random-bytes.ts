import { createRandom } from '../random.ts'

/** Seeded random numbers and bytes, so that a failing case can be repeated. */
export class Random {
  readonly #random: ReturnType<typeof createRandom>

  constructor(seed: number) {
    this.#random = createRandom(seed)
  }

  /** 0 to 1. */
  next(): number {
    return this.#random.next()
  }

  /** 0 to `below` - 1. */
  integer(below: number): number {
    return this.#random.integer(below)
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.integer(256)))
  }

  /** A copy with some bytes changed, removed or repeated. */
  mutate(data: Buffer): Buffer {
    const out = Buffer.from(data)
    for (let count = 1 + this.integer(6); count > 0 && out.length > 0; count -= 1) out[this.integer(out.length)] = this.integer(256)
    const at = this.integer(out.length + 1)
    if (this.next() < 0.3) return out.subarray(0, at)
    if (this.next() < 0.3) return Buffer.concat([out.subarray(0, at), out.subarray(this.integer(at + 1))])
    return out
  }

  /** Splits the bytes into pieces of 1 to `most`. */
  pieces(data: Buffer, most: number): Buffer[] {
    const pieces: Buffer[] = []
    for (let at = 0; at < data.length; ) {
      const end = Math.min(data.length, at + 1 + this.integer(most))
      pieces.push(data.subarray(at, end))
      at = end
    }
    return pieces
  }
}
