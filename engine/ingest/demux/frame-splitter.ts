const NOTHING: Uint8Array = new Uint8Array(0)
/** Longer than a frame of any codec here. */
const MAX_REST_BYTES = 16 * 1024

interface Frame {
  readonly bytes: Uint8Array
  /** It began in an earlier payload. */
  readonly began: boolean
}

/** Cuts a stream of frames that each state their length, over the borders of payloads; skips what is no frame. */
export class FrameSplitter {
  readonly #lengthOf: (bytes: Uint8Array, at: number) => number | undefined
  readonly #headerBytes: number
  #rest = NOTHING

  /** `lengthOf`: bytes of the frame that begins at an offset, at least those of its header; undefined when none does. */
  constructor(headerBytes: number, lengthOf: (bytes: Uint8Array, at: number) => number | undefined) {
    this.#headerBytes = headerBytes
    this.#lengthOf = lengthOf
  }

  push(payload: Uint8Array): readonly Frame[] {
    const earlier = this.#rest.length
    const bytes = earlier === 0 ? payload : Buffer.concat([this.#rest, payload])
    const frames: Frame[] = []
    let at = 0
    while (at + this.#headerBytes <= bytes.length) {
      const length = this.#lengthOf(bytes, at)
      if (length === undefined) at += 1
      else if (at + length > bytes.length) break
      else {
        frames.push({ bytes: bytes.subarray(at, at + length), began: at < earlier })
        at += length
      }
    }
    this.#rest = bytes.length - at > MAX_REST_BYTES ? NOTHING : bytes.slice(at)
    return frames
  }

  reset(): void {
    this.#rest = NOTHING
  }
}
