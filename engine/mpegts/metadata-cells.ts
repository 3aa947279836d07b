import { ByteAccumulator } from './byte-accumulator.ts'

const HEADER = 5
const MAX_UNIT = 256 * 1024
/** The first bytes of every universal label (SMPTE ST 298). */
const LABEL_PREFIX = [0x06, 0x0e, 0x2b, 0x34] as const

/** cell_fragment_indication of a metadata access unit cell. */
const FRAGMENT = { middle: 0, last: 1, first: 2, whole: 3 } as const

/**
 * Assembles metadata access units from the PES payloads of a synchronous stream: cells with a five-byte header
 * (ISO/IEC 13818-1 section 2.12.4). One payload may carry several cells, and one unit may span several.
 */
export class MetadataCellAssembler {
  readonly #unit = new ByteAccumulator(MAX_UNIT)
  #open = false

  push(payload: Uint8Array): Uint8Array[] {
    // Some encoders omit the cell header. Its reserved bits are ones, so it cannot be mistaken for a label.
    if (LABEL_PREFIX.every((octet, i) => payload[i] === octet)) return [payload]
    const complete: Uint8Array[] = []
    let at = 0
    while (at + HEADER <= payload.length) {
      const length = ((payload[at + 3] ?? 0) << 8) | (payload[at + 4] ?? 0)
      const end = at + HEADER + length
      if (end > payload.length) break
      this.#take((payload[at + 2] ?? 0) >> 6, payload.subarray(at + HEADER, end), complete)
      at = end
    }
    if (at < payload.length) this.reset() // a cell longer than its payload
    return complete
  }

  reset(): void {
    this.#unit.reset()
    this.#open = false
  }

  #take(fragment: number, data: Uint8Array, complete: Uint8Array[]): void {
    if (fragment === FRAGMENT.first || fragment === FRAGMENT.whole) this.reset()
    else if (!this.#open) return // its first cell was lost
    this.#open = true
    if (!this.#unit.append(data)) this.#open = false
    else if (fragment === FRAGMENT.whole || fragment === FRAGMENT.last) {
      complete.push(this.#unit.take())
      this.#open = false
    }
  }
}
