/** Seeded random numbers (mulberry32), so that a failing case can be repeated. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** 0 to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** 0 to `below` - 1. */
  integer(below: number): number {
    return Math.floor(this.next() * below)
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
