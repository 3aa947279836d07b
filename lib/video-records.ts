/**
 * Records of `GET /svc/pipeline/{id}/video`, for the service and its clients. Numbers are unsigned and big-endian:
 *
 * | Offset | Bytes | Content |
 * |---|---|---|
 * | 0 | 1 | kind, one of RECORD_KINDS; other kinds are for later versions |
 * | 1 | 8 | time, µs |
 * | 9 | 4 | length of the payload, bytes |
 * | 13 | | payload: VideoConfig, SourceEvent or AudioConfig as JSON, an access unit in Annex B, a frame of sound, or a KLV packet |
 *
 * Kinds 5 and 6 come with `audio=1` alone, kind 7 with `klv=1`. `GET /svc/video` has records of several pipelines: the first byte of a payload is the index of
 * the pipeline in the request; then, of a `part`, the next bytes of its own records, cut anywhere, and of `ended`, PartEnd as JSON.
 */
export const RECORD_KINDS = { config: 1, key: 2, delta: 3, event: 4, soundConfig: 5, sound: 6, klv: 7, part: 8, ended: 9 } as const

type RecordKind = (typeof RECORD_KINDS)[keyof typeof RECORD_KINDS]

export const RECORD_HEADER_BYTES = 13

/** A key frame of 8K has less. */
const MAX_PAYLOAD_BYTES = 32 * 1024 * 1024

/** A VideoDecoderConfig (W3C WebCodecs) without `description`: the stream is in Annex B. */
export interface VideoConfig {
  readonly codec: string
  /** Pixels. */
  readonly codedWidth: number
  readonly codedHeight: number
}

/** An AudioDecoderConfig (W3C WebCodecs) without `description`: AAC is in ADTS. */
export interface AudioConfig {
  readonly codec: string
  /** Hz */
  readonly sampleRate: number
  readonly numberOfChannels: number
}

export interface SourceEvent {
  readonly type: 'source_lost' | 'source_back'
}

export interface VideoRecord {
  readonly kind: number
  /** µs */
  readonly time: number
  readonly payload: Uint8Array<ArrayBuffer>
}

/** Writes the header of a record whose payload is in place. */
export const withRecordHeader = <Bytes extends Uint8Array>(record: Bytes, kind: RecordKind, timeMs: number): Bytes => {
  const view = new DataView(record.buffer, record.byteOffset)
  view.setUint8(0, kind)
  view.setBigUint64(1, BigInt(Math.max(0, Math.round(timeMs * 1000))))
  view.setUint32(9, record.length - RECORD_HEADER_BYTES)
  return record
}

const jsonRecord = (kind: RecordKind, timeMs: number, value: VideoConfig | AudioConfig | SourceEvent): Uint8Array => {
  const payload = new TextEncoder().encode(JSON.stringify(value))
  const record = new Uint8Array(RECORD_HEADER_BYTES + payload.length)
  record.set(payload, RECORD_HEADER_BYTES)
  return withRecordHeader(record, kind, timeMs)
}

export const configRecord = (timeMs: number, config: VideoConfig): Uint8Array => jsonRecord(RECORD_KINDS.config, timeMs, config)

export const soundConfigRecord = (timeMs: number, config: AudioConfig): Uint8Array => jsonRecord(RECORD_KINDS.soundConfig, timeMs, config)

const bytesRecord = (kind: RecordKind, timeMs: number, bytes: Uint8Array): Uint8Array => {
  const record = new Uint8Array(RECORD_HEADER_BYTES + bytes.length)
  record.set(bytes, RECORD_HEADER_BYTES)
  return withRecordHeader(record, kind, timeMs)
}

/** A frame of sound. */
export const soundRecord = (timeMs: number, frame: Uint8Array): Uint8Array => bytesRecord(RECORD_KINDS.sound, timeMs, frame)

/** A KLV packet, with the time of its frame. */
export const klvRecord = (timeMs: number, packet: Uint8Array): Uint8Array => bytesRecord(RECORD_KINDS.klv, timeMs, packet)

export const eventRecord = (timeMs: number, type: SourceEvent['type']): Uint8Array => jsonRecord(RECORD_KINDS.event, timeMs, { type })

/** Why the video of one of several pipelines ended or did not begin: the body of an error, null when it was stopped. */
export interface PartEnd {
  readonly error: { readonly message: string; readonly code: string; readonly details: Readonly<Record<string, unknown>> } | null
}

/** The begin of a part, before its `length` bytes. */
export const partHeader = (index: number, length: number): Uint8Array => partOf(RECORD_KINDS.part, index, length)

export const endedRecord = (index: number, error: PartEnd['error']): Uint8Array => {
  const json = new TextEncoder().encode(JSON.stringify({ error } satisfies PartEnd))
  return Uint8Array.of(...partOf(RECORD_KINDS.ended, index, json.length), ...json)
}

const partOf = (kind: RecordKind, index: number, length: number): Uint8Array => {
  const header = new Uint8Array(RECORD_HEADER_BYTES + 1)
  header[0] = kind
  new DataView(header.buffer).setUint32(9, length + 1)
  header[RECORD_HEADER_BYTES] = index
  return header
}

/** Splits the bytes of a stream into records. */
export class VideoRecordParser {
  readonly #queue = new ByteQueue()

  /** The records that this piece completes, in memory of their own. Throws when a record is longer than any picture can be. */
  push(piece: Uint8Array): readonly VideoRecord[] {
    const queue = this.#queue
    const records: VideoRecord[] = []
    queue.push(piece)
    while (queue.length >= RECORD_HEADER_BYTES) {
      const view = new DataView(queue.peek(RECORD_HEADER_BYTES).buffer)
      const length = view.getUint32(9)
      if (length > MAX_PAYLOAD_BYTES) throw new Error('The video stream of the service cannot be read')
      if (queue.length < RECORD_HEADER_BYTES + length) break
      queue.take(RECORD_HEADER_BYTES)
      records.push({ kind: view.getUint8(0), time: Number(view.getBigUint64(1)), payload: queue.take(length) })
    }
    return records
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
