import type { VideoCodec } from '../codec/codecs.ts'
import { joinAnnexB, type Nal, nalBytes } from '../codec/nal.ts'
import type { Picture } from '../formats/elementary-stream.ts'

/** The kinds of records of `GET /svc/pipeline/{id}/video`. */
export const RECORD_KINDS = { config: 1, key: 2, delta: 3, event: 4 } as const

/** Before each payload: kind (1 byte), time in µs (8 bytes), length of the payload (4 bytes), big-endian. */
const HEADER_BYTES = 13

const withHeader = (record: Buffer, kind: number, timeMs: number): Buffer => {
  record[0] = kind
  record.writeBigUInt64BE(BigInt(Math.max(0, Math.round(timeMs * 1000))), 1)
  record.writeUInt32BE(record.length - HEADER_BYTES, 9)
  return record
}

/** A record whose payload is JSON. */
export const jsonRecord = (kind: number, timeMs: number, value: unknown): Buffer => {
  const text = JSON.stringify(value)
  const record = Buffer.allocUnsafe(HEADER_BYTES + Buffer.byteLength(text))
  record.write(text, HEADER_BYTES)
  return withHeader(record, kind, timeMs)
}

/** The record of a picture. Where no picture is reordered, its parameter sets let a decoder show each one at once. */
export const pictureRecord = ({ codec, key, nals, reorders }: Picture, timeMs: number): Buffer => {
  const sent = key && reorders === false ? nals.map((nal) => shownAtOnce(codec, nal)) : nals
  return withHeader(joinAnnexB(sent, HEADER_BYTES), key ? RECORD_KINDS.key : RECORD_KINDS.delta, timeMs)
}

const shownAtOnce = (codec: VideoCodec, nal: Nal): Nal =>
  codec.parameterSets.get(nal.type) === 'sps' ? { type: nal.type, pieces: [codec.withoutReorderDelay(nalBytes(nal))] } : nal
