/** What the decoder is told: JSON of a WebCodecs VideoDecoderConfig for Annex B. */
export interface VideoConfig {
  readonly codec: string
  readonly codedWidth: number
  readonly codedHeight: number
}

/** An access unit in Annex B; the time is in microseconds. */
export interface AccessUnit {
  readonly type: 'key' | 'delta'
  readonly timestamp: number
  readonly data: Uint8Array<ArrayBuffer>
}

interface RecordListener {
  readonly onConfig: (config: VideoConfig) => void
  readonly onUnit: (unit: AccessUnit) => void
  readonly onSource: (type: 'source_lost' | 'source_back') => void
}

const HEADER_BYTES = 13
/** A key frame of 8K has less. */
const MAX_PAYLOAD_BYTES = 32 * 1024 * 1024

/**
 * Splits `application/vnd.video-pipeline.units` into records: kind (1 byte), time in µs (8), length (4), payload. Answers a
 * function that takes the next piece of the stream; it throws when a record is longer than any frame can be.
 */
export const createRecordParser = (listener: RecordListener): ((piece: Uint8Array) => void) => {
  const queue = new ByteQueue()
  return (piece) => {
    queue.push(piece)
    while (queue.length >= HEADER_BYTES) {
      const header = queue.peek(HEADER_BYTES)
      const view = new DataView(header.buffer, header.byteOffset)
      const length = view.getUint32(9)
      if (length > MAX_PAYLOAD_BYTES) throw new Error('The video stream of the service cannot be read')
      if (queue.length < HEADER_BYTES + length) return
      queue.take(HEADER_BYTES)
      deliver(listener, view.getUint8(0), Number(view.getBigUint64(1)), queue.take(length))
    }
  }
}

const KIND = { config: 1, key: 2, delta: 3, source: 4 } as const

/** Kinds that are not known are for later versions. */
const deliver = (listener: RecordListener, kind: number, timestamp: number, data: Uint8Array<ArrayBuffer>): void => {
  if (kind === KIND.key) listener.onUnit({ type: 'key', timestamp, data })
  else if (kind === KIND.delta) listener.onUnit({ type: 'delta', timestamp, data })
  else if (kind === KIND.config) listener.onConfig(JSON.parse(new TextDecoder().decode(data)) as VideoConfig)
  else if (kind === KIND.source) {
    const { type } = JSON.parse(new TextDecoder().decode(data)) as { type: string }
    if (type === 'source_lost' || type === 'source_back') listener.onSource(type)
  }
}

/** Pieces of a stream, read in other lengths; each byte is copied once. */
class ByteQueue {
  #pieces: Uint8Array[] = []
  /** How much of the first piece was taken. */
  #offset = 0
  length = 0

  push(piece: Uint8Array): void {
    this.#pieces.push(piece)
    this.length += piece.length
  }

  peek(count: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(count)
    let at = 0
    for (let index = 0; at < count; index++) {
      const piece = this.#pieces[index]?.subarray(index === 0 ? this.#offset : 0, undefined) ?? new Uint8Array()
      const part = piece.subarray(0, count - at)
      bytes.set(part, at)
      at += part.length
    }
    return bytes
  }

  take(count: number): Uint8Array<ArrayBuffer> {
    const bytes = this.peek(count)
    let left = count
    this.length -= count
    while (left > 0) {
      const rest = (this.#pieces[0]?.length ?? 0) - this.#offset
      if (left < rest) {
        this.#offset += left
        return bytes
      }
      left -= rest
      this.#pieces.shift()
      this.#offset = 0
    }
    return bytes
  }
}
