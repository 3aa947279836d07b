/** A tag of FLV (Adobe Flash Video File Format Specification 10.1, annex E.4.1). */
export interface FlvTag {
  readonly kind: 'audio' | 'video' | 'script'
  /** Time of decoding, milliseconds modulo 2^32. */
  readonly ms: number
  readonly data: Buffer
}

const HEADER = 9
const TAG_HEADER = 11
/** The size of the tag before follows each tag. */
const SIZE = 4
const KINDS: Readonly<Record<number, FlvTag['kind']>> = { 8: 'audio', 9: 'video', 18: 'script' }

/** The bytes are not FLV. */
export class FlvError extends Error {
  override readonly name = 'FlvError'
}

/** Cuts FLV into its tags; holds at most one of them, which has at most 16 MiB. */
export class FlvReader {
  #parts: Buffer[] = []
  #length = 0
  #needed = HEADER + SIZE
  #begun = false
  #hasSound: boolean | undefined

  /** Whether its header announces sound; undefined before it. */
  get hasSound(): boolean | undefined {
    return this.#hasSound
  }

  /** The tags that this chunk completes; its memory must stay as it is. Throws FlvError. */
  push(chunk: Buffer): readonly FlvTag[] {
    this.#parts.push(chunk)
    this.#length += chunk.length
    const tags: FlvTag[] = []
    if (this.#length < this.#needed) return tags
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts)
    let at = 0
    if (!this.#begun) at = this.#begin(bytes)
    this.#needed = TAG_HEADER
    while (at + TAG_HEADER <= bytes.length) {
      const size = bytes.readUIntBE(at + 1, 3)
      const end = at + TAG_HEADER + size
      if (end + SIZE > bytes.length) {
        this.#needed = TAG_HEADER + size + SIZE
        break
      }
      const kind = KINDS[(bytes[at] ?? 0) & 0x1f]
      if (kind === undefined || bytes.readUInt32BE(end) !== TAG_HEADER + size) throw new FlvError('The source sends data that is not FLV.')
      const ms = bytes.readUIntBE(at + 4, 3) + (bytes[at + 7] ?? 0) * 2 ** 24
      tags.push({ kind, ms, data: bytes.subarray(at + TAG_HEADER, end) })
      at = end + SIZE
    }
    this.#parts = [bytes.subarray(at)]
    this.#length = bytes.length - at
    return tags
  }

  #begin(bytes: Buffer): number {
    const header = bytes.readUInt32BE(5)
    if (bytes.toString('latin1', 0, 3) !== 'FLV' || header !== HEADER) throw new FlvError('The source sends data that is not FLV.')
    this.#begun = true
    this.#hasSound = ((bytes[4] ?? 0) & 4) !== 0
    return HEADER + SIZE
  }
}
