/** Reads the bits of a NAL unit. Past the end it reads zeros, so that a truncated parameter set causes no exception. */
export class BitReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** Number of bits read. */
  get position(): number {
    return this.#at
  }

  /** More was read than there is. */
  get ended(): boolean {
    return this.#at > this.#bytes.length * 8
  }

  bit(): number {
    const byte = this.#bytes[this.#at >> 3] ?? 0
    const bit = (byte >> (7 - (this.#at & 7))) & 1
    this.#at += 1
    return bit
  }

  number(bits: number): number {
    let value = 0
    for (let read = 0; read < bits; read++) value = value * 2 + this.bit()
    return value
  }

  skip(bits: number): void {
    this.#at += bits
  }

  /** Exp-Golomb, unsigned (H.264 section 9.1). */
  ue(): number {
    let zeros = 0
    while (this.bit() === 0 && zeros < 32) zeros += 1
    return 2 ** zeros - 1 + this.number(zeros)
  }

  /** Exp-Golomb, signed. */
  se(): number {
    const code = this.ue()
    return code % 2 === 1 ? (code + 1) / 2 : -code / 2
  }
}

/** Writes bits, the highest of a byte first. */
export class BitWriter {
  readonly #bytes: number[] = []
  #free = 0

  bit(bit: number): void {
    if (this.#free === 0) {
      this.#bytes.push(0)
      this.#free = 8
    }
    this.#free -= 1
    this.#bytes[this.#bytes.length - 1] = (this.#bytes.at(-1) ?? 0) | (bit << this.#free)
  }

  number(value: number, bits: number): void {
    for (let bit = bits - 1; bit >= 0; bit--) this.bit(Math.floor(value / 2 ** bit) % 2)
  }

  /** Exp-Golomb, unsigned. */
  ue(value: number): void {
    const bits = Math.floor(Math.log2(value + 1))
    this.number(0, bits)
    this.number(value + 1, bits + 1)
  }

  copy(from: BitReader, bits: number): void {
    for (let copied = 0; copied < bits; copied++) this.bit(from.bit())
  }

  /** The stop bit and zeros up to the next byte (rbsp_trailing_bits, H.264 section 7.3.2.11), then all bytes. */
  finish(): Uint8Array {
    this.bit(1)
    return Uint8Array.from(this.#bytes)
  }
}

/** Removes the emulation prevention bytes (H.264 section 7.3.1, H.265 section 7.3.1.1). */
export const withoutEmulation = (nal: Uint8Array): Uint8Array => {
  const bytes: number[] = []
  let zeros = 0
  for (const byte of nal) {
    if (byte === 3 && zeros >= 2) zeros = 0
    else {
      bytes.push(byte)
      zeros = byte === 0 ? zeros + 1 : 0
    }
  }
  return Uint8Array.from(bytes)
}

/** Adds them, so that no start code is inside a NAL unit. */
export const withEmulation = (rbsp: Uint8Array): Uint8Array => {
  const bytes: number[] = []
  let zeros = 0
  for (const byte of rbsp) {
    if (zeros >= 2 && byte <= 3) {
      bytes.push(3)
      zeros = 0
    }
    bytes.push(byte)
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return Uint8Array.from(bytes)
}
