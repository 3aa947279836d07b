import { BitReader } from '../../codec/bits.ts'
import { aggregated, firstType, isNalCodec, NAL_FORMATS, type NalFormat } from './nal-units.ts'

/** The beginning of a NAL unit in a packet: its type, and the bytes after its header. */
interface NalStart {
  readonly type: number
  readonly body: Buffer
}

export const nalStarts = (format: NalFormat, payload: Buffer): readonly NalStart[] => {
  const { headerBytes, aggregation, fragment, typeOf } = format
  const type = firstType(format, payload)
  if (type === undefined) return []
  if (type !== aggregation) {
    const isFragment = typeOf(payload[0] ?? 0) === fragment
    return [{ type, body: payload.subarray(headerBytes + (isFragment ? 1 : 0)) }]
  }
  return (aggregated(format, payload) ?? []).map((nal) => ({ type: typeOf(nal[0] ?? 0), body: nal.subarray(headerBytes) }))
}

/** first_mb_in_slice 0 (ITU-T H.264 section 7.3.3) and first_slice_segment_in_pic_flag (H.265 section 7.3.6.1) are both a leading 1. */
const beginsPicture = ([first = 0]: Buffer): boolean => (first & 0x80) !== 0

/** Whether a packet's payload continues a NAL unit, or begins a slice other than the first of its picture. */
export const continuesPicture = (encodingName: string, payload: Buffer): boolean => {
  if (!isNalCodec(encodingName)) return false
  const format = NAL_FORMATS[encodingName]
  if (firstType(format, payload) === undefined) return true
  return nalStarts(format, payload).some(({ type, body }) => format.isSlice(type) && body.length > 0 && !beginsPicture(body))
}

const SPS = 7
/** slice_type I, of this slice or of all of its picture (H.264 table 7-6). */
const INTRA = new Set([2, 7])
const BIDIRECTIONAL = new Set([1, 6])
const MAX_HEADER_BYTES = 16

const sliceType = (body: Buffer): number => {
  const bits = new BitReader(body.subarray(0, MAX_HEADER_BYTES))
  bits.ue()
  return bits.ue()
}

/** Whether a unit of H.264 begins with a B slice: only such a picture is shown before one that came earlier. */
export const isBidirectional = (encodingName: string, payloads: Iterable<Buffer>): boolean => {
  if (encodingName !== 'H264') return false
  for (const payload of payloads) {
    const slice = nalStarts(NAL_FORMATS.H264, payload).find(({ type }) => NAL_FORMATS.H264.isSlice(type))
    if (slice !== undefined) return BIDIRECTIONAL.has(sliceType(slice.body))
  }
  return false
}

/**
 * Whether a unit of H.264 that is neither an IDR picture nor marked as a recovery point is an intra picture with its own sequence
 * parameter set: the place to start in a stream that has neither. Not certain, since later pictures may refer to earlier ones.
 */
export const isIntraEntry = (encodingName: string, payloads: Iterable<Buffer>): boolean => {
  if (encodingName !== 'H264') return false
  const format = NAL_FORMATS.H264
  let [hasSps, pictures] = [false, 0]
  for (const payload of payloads) {
    for (const { type, body } of nalStarts(format, payload)) {
      if (type === SPS) hasSps = true
      if (!format.isSlice(type)) continue
      if (!hasSps) return false
      // The second field of an intra picture may be predicted from the first.
      if (beginsPicture(body) && ++pictures > 1) return true
      if (!INTRA.has(sliceType(body))) return false
    }
  }
  return pictures > 0
}
