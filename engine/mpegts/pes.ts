import { ByteAccumulator } from './byte-accumulator.ts'

/** The payload of one PES packet. */
export interface PesPacket {
  /** 90 kHz ticks modulo 2^33, null when the packet has none. */
  readonly pts: number | null
  readonly payload: Uint8Array
  /** It states its length, so that it is complete with its last byte, not with the next packet. */
  readonly bounded: boolean
}

const HEADER = 6
/** PES_packet_length has 16 bits; a packet without a length may be longer, but none of metadata or sound is. */
const MAX_PES = 256 * 1024

/** Assembles PES packets from the payloads of one PID (ISO/IEC 13818-1 section 2.4.3.6); returns a packet as soon as it is complete. */
export class PesAssembler {
  readonly #bytes: ByteAccumulator
  /** Bytes of the whole packet: 0 when it has no length and ends where the next begins, null while none has begun. */
  #expected: number | null = null

  /** A packet of more than `maxBytes` is dropped. */
  constructor(maxBytes = MAX_PES) {
    this.#bytes = new ByteAccumulator(maxBytes)
  }

  push(payload: Uint8Array, starts: boolean): PesPacket[] {
    const complete: PesPacket[] = []
    if (starts) {
      if (this.#expected === 0) this.#finish(complete)
      this.reset()
      this.#expected = packetLength(payload)
    }
    if (this.#expected === null) return complete
    if (!this.#bytes.append(payload)) this.reset()
    else if (this.#expected > 0 && this.#bytes.length >= this.#expected) this.#finish(complete)
    return complete
  }

  /** No more comes: a packet without a length is complete. */
  end(): readonly PesPacket[] {
    const complete: PesPacket[] = []
    if (this.#expected === 0) this.#finish(complete)
    return complete
  }

  reset(): void {
    this.#bytes.reset()
    this.#expected = null
  }

  #finish(complete: PesPacket[]): void {
    const bytes = this.#bytes.take()
    const pes = parsePes(this.#expected === 0 ? bytes : bytes.subarray(0, this.#expected ?? 0), this.#expected !== 0)
    if (pes !== null) complete.push(pes)
    this.reset()
  }
}

/** Bytes of the PES packet that begins here; 0 when it has no length, null when it is not a PES packet (section 2.4.3.7). */
const packetLength = (bytes: Uint8Array): number | null => {
  if (bytes.length < HEADER || bytes[0] !== 0 || bytes[1] !== 0 || bytes[2] !== 1) return null
  const length = ((bytes[4] ?? 0) << 8) | (bytes[5] ?? 0)
  return length === 0 ? 0 : HEADER + length
}

const parsePes = (bytes: Uint8Array, bounded: boolean): PesPacket | null => {
  const flags = bytes[7] ?? 0
  const start = HEADER + 3 + (bytes[8] ?? 0)
  // '10' marks a header with flags and length; padding and some other streams have none.
  if (bytes.length < HEADER + 3 || (bytes[6] ?? 0) >> 6 !== 2 || start > bytes.length) return null
  const hasPts = flags >= 0x80 && (bytes[8] ?? 0) >= 5
  return { pts: hasPts ? readPts(bytes, HEADER + 3) : null, payload: bytes.subarray(start), bounded }
}

/** 33 bits in five bytes, with marker bits in between; too many for JavaScript's bit operators. */
const readPts = (bytes: Uint8Array, at: number): number => {
  const b = (i: number): number => bytes[at + i] ?? 0
  return ((b(0) >> 1) & 7) * 2 ** 30 + (b(1) << 22) + ((b(2) >> 1) << 15) + (b(3) << 7) + (b(4) >> 1)
}
