import { aggregatedUnits } from './aggregation.ts'

/** Whether a packet's payload, the bytes [start, end) of `data`, contains or begins a picture that a decoder can start at. */
type StartsKeyFrame = (data: Buffer, start: number, end: number) => boolean

const byteAt = (data: Buffer, index: number, end: number): number => (index < end ? (data[index] ?? 0) : 0)

const SEI_RECOVERY_POINT = 6

/** ITU-T H.264 annex D: an SEI message of type 6 marks a picture other than an IDR as a recovery point. */
const hasRecoveryPoint = (data: Buffer, start: number, end: number): boolean => {
  let offset = start
  while (offset + 2 < end) {
    let type = 0
    while (byteAt(data, offset, end) === 0xff) type += byteAt(data, offset++, end)
    type += byteAt(data, offset++, end)
    if (type === SEI_RECOVERY_POINT) return true
    let size = 0
    while (byteAt(data, offset, end) === 0xff) size += byteAt(data, offset++, end)
    size += byteAt(data, offset++, end)
    offset += size
  }
  return false
}

const isH264KeyUnit = (data: Buffer, start: number, end: number): boolean => {
  const type = byteAt(data, start, end) & 0x1f
  return type === 5 || (type === 6 && hasRecoveryPoint(data, start + 1, end))
}

const someAggregated = (data: Buffer, start: number, end: number, test: StartsKeyFrame): boolean =>
  aggregatedUnits(data.subarray(start, end)).units.some((unit) => test(unit, 0, unit.length))

/** RFC 6184 sections 5.6 (single NAL unit), 5.7.1 (STAP-A 24, STAP-B 25) and 5.8 (FU-A 28, FU-B 29). */
const h264: StartsKeyFrame = (data, start, end) => {
  const type = byteAt(data, start, end) & 0x1f
  if (type === 24) return someAggregated(data, start + 1, end, isH264KeyUnit)
  if (type === 25) return someAggregated(data, start + 3, end, isH264KeyUnit)
  if (type !== 28 && type !== 29) return isH264KeyUnit(data, start, end)
  const fragment = byteAt(data, start + 1, end)
  return (fragment & 0x80) !== 0 && (fragment & 0x1f) === 5
}

const h265Type = (header: number): number => (header >> 1) & 0x3f
/** Intra random access pictures: BLA, IDR, CRA (ITU-T H.265 table 7-1). */
const isIrap = (type: number): boolean => type >= 16 && type <= 21

/** RFC 7798 sections 4.4.1 (single NAL unit), 4.4.2 (aggregation 48) and 4.4.3 (fragmentation 49). */
const h265: StartsKeyFrame = (data, start, end) => {
  const type = h265Type(byteAt(data, start, end))
  if (type === 48) return someAggregated(data, start + 2, end, (unit, from, to) => isIrap(h265Type(byteAt(unit, from, to))))
  if (type !== 49) return isIrap(type)
  const fragment = byteAt(data, start + 2, end)
  return (fragment & 0x80) !== 0 && isIrap(fragment & 0x3f)
}

/** RFC 7741 sections 4.2 and 4.3: the first packet of partition 0 holds the frame header, whose lowest bit is 0 in a key frame. */
const vp8: StartsKeyFrame = (data, start, end) => {
  const descriptor = byteAt(data, start, end)
  if ((descriptor & 0x17) !== 0x10) return false
  let offset = start + 1
  if ((descriptor & 0x80) !== 0) {
    const extension = byteAt(data, offset++, end)
    if ((extension & 0x80) !== 0) offset += (byteAt(data, offset, end) & 0x80) !== 0 ? 2 : 1
    if ((extension & 0x40) !== 0) offset += 1
    if ((extension & 0x30) !== 0) offset += 1
  }
  return offset < end && (byteAt(data, offset, end) & 0x01) === 0
}

/** RFC 9628 section 4.2: the beginning of a frame (B) without inter-picture prediction (P), of spatial layer 0. */
const vp9: StartsKeyFrame = (data, start, end) => {
  const descriptor = byteAt(data, start, end)
  if ((descriptor & 0x48) !== 0x08) return false
  if ((descriptor & 0x20) === 0) return start < end
  let offset = start + 1
  if ((descriptor & 0x80) !== 0) offset += (byteAt(data, offset, end) & 0x80) !== 0 ? 2 : 1
  return ((byteAt(data, offset, end) >> 1) & 0x07) === 0
}

/** AV1 RTP payload, aggregation header: N marks the first packet of a coded video sequence. */
const av1: StartsKeyFrame = (data, start, end) => (byteAt(data, start, end) & 0x08) !== 0

const SEQUENCE_HEADER = Buffer.from([0, 0, 1, 0xb3])
/** RFC 2250 section 3.4. GStreamer's payloader leaves the picture type of the header 0, so this searches for the start code itself. */
const mpegVideo: StartsKeyFrame = (data, start, end) => data.subarray(start + 4, end).includes(SEQUENCE_HEADER)

const VOP = Buffer.from([0, 0, 1, 0xb6])
/** RFC 6416: a VOP whose coding type, the two bits after its start code, is I (ISO/IEC 14496-2). */
const mpeg4Visual: StartsKeyFrame = (data, start, end) => {
  const payload = data.subarray(start, end)
  const vop = payload.indexOf(VOP)
  return vop !== -1 && vop + 4 < payload.length && ((payload[vop + 4] ?? 0) & 0xc0) === 0
}

const DETECTORS: Readonly<Record<string, StartsKeyFrame>> = {
  H264: h264,
  H265: h265,
  VP8: vp8,
  VP9: vp9,
  AV1: av1,
  MPV: mpegVideo,
  'MP4V-ES': mpeg4Visual,
}

const always: StartsKeyFrame = () => true

/** The test for an encoding name. A decoder of codecs without prediction, and of unknown ones, can start at any packet. */
export const keyFrameDetector = (encodingName: string): StartsKeyFrame => {
  const name = encodingName.toUpperCase()
  return Object.hasOwn(DETECTORS, name) ? (DETECTORS[name] ?? always) : always
}
