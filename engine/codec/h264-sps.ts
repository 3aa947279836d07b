import { BitReader, withoutEmulation } from './bits.ts'
import { readFrameRate, skipVuiHead } from './vui.ts'

/** What is read of an H.264 sequence parameter set (section 7.3.2.1.1 and annex E). */
interface H264Sps {
  readonly id: number
  /** profile_idc, the constraint flags, level_idc. */
  readonly profile: number
  readonly constraints: number
  readonly level: number
  /** The picture without its cropping, pixels. */
  readonly width: number
  readonly height: number
  /** A picture may be a field (frame_mbs_only_flag is 0). */
  readonly fields: boolean
  /** Of frame_num in the header of each slice. */
  readonly frameNumBits: number
  /** 2: pictures are shown in the order in which they are decoded. */
  readonly pictureOrderType: number
  readonly referenceFrames: number
  /** From the VUI; null when there is none or it is out of range. */
  readonly frameRate: number | null
  /** max_num_reorder_frames; undefined without bitstream_restriction. */
  readonly reorderFrames: number | undefined
  /** Bit of vui_parameters_present_flag in the NAL unit without emulation prevention. */
  readonly vuiAt: number
  /** Bit of timing_info_present_flag, and of bitstream_restriction_flag; undefined without a VUI. */
  readonly timingAt: number | undefined
  readonly restrictionAt: number | undefined
  /** timing_info_present_flag. */
  readonly timed: boolean
}

type Vui = Pick<H264Sps, 'frameRate' | 'reorderFrames' | 'timingAt' | 'restrictionAt' | 'timed'>

const NO_VUI: Vui = { frameRate: null, reorderFrames: undefined, timingAt: undefined, restrictionAt: undefined, timed: false }
const MAX_BYTES = 1024
const HIGH_PROFILES = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135])
const MAX_CYCLE = 255
const MAX_CPB = 32
/** Frames that a decoder holds (section A.3.1). */
const MAX_FRAMES = 16

/** Undefined when the NAL unit is not a complete sequence parameter set. */
export const parseH264Sps = (nal: Uint8Array): H264Sps | undefined => {
  const [header = 0, profile = 0, constraints = 0, level = 0] = nal
  if ((header & 0x1f) !== 7 || nal.length > MAX_BYTES) return undefined
  const bits = new BitReader(withoutEmulation(nal))
  bits.skip(32)
  const id = bits.ue()
  const chroma = HIGH_PROFILES.has(profile) ? readHighProfile(bits) : 1
  const frameNumBits = bits.ue() + 4
  const pictureOrderType = readPictureOrder(bits)
  const referenceFrames = bits.ue()
  bits.bit()
  const size = readSize(bits, chroma)
  const vuiAt = bits.position
  const vui = bits.bit() === 1 ? readVui(bits) : NO_VUI
  const frames = Math.max(referenceFrames, vui.reorderFrames ?? 0)
  if (bits.ended || id > 31 || pictureOrderType > 2 || frames > MAX_FRAMES) return undefined
  return { id, profile, constraints, level, ...size, frameNumBits, pictureOrderType, referenceFrames, ...vui, vuiAt }
}

/** Whether a NAL unit is a slice of a field (section 7.3.3), with its own header of one byte. */
export const isFieldSlice = (nal: Uint8Array, { fields, frameNumBits }: Pick<H264Sps, 'fields' | 'frameNumBits'>): boolean => {
  const type = (nal[0] ?? 0) & 0x1f
  if (!fields || (type !== 1 && type !== 5)) return false
  const bits = new BitReader(withoutEmulation(nal.subarray(1, 33)))
  for (let code = 0; code < 3; code += 1) bits.ue()
  bits.skip(frameNumBits)
  return bits.bit() === 1
}

/** Frames per second in the VUI of a sequence parameter set, null when there is none or it is out of range. */
export const frameRateOfSps = (nal: Uint8Array): number | null => parseH264Sps(nal)?.frameRate ?? null

/** Returns chroma_format_idc. */
const readHighProfile = (bits: BitReader): number => {
  const chroma = bits.ue()
  const separate = chroma === 3 && bits.bit() === 1
  bits.ue()
  bits.ue()
  bits.bit()
  if (bits.bit() === 1) {
    for (let list = 0; list < (chroma === 3 ? 12 : 8); list++) if (bits.bit() === 1) skipScalingList(bits, list < 6 ? 16 : 64)
  }
  return separate ? 0 : chroma
}

const skipScalingList = (bits: BitReader, size: number): void => {
  let last = 8
  let next = 8
  for (let entry = 0; entry < size; entry++) {
    if (next !== 0) next = (last + bits.se() + 256) % 256
    last = next === 0 ? last : next
  }
}

const readPictureOrder = (bits: BitReader): number => {
  const type = bits.ue()
  if (type === 0) bits.ue()
  if (type !== 1) return type
  bits.bit()
  bits.se()
  bits.se()
  const cycle = Math.min(bits.ue(), MAX_CYCLE)
  for (let frame = 0; frame < cycle; frame++) bits.se()
  return type
}

const readSize = (bits: BitReader, chroma: number): Pick<H264Sps, 'width' | 'height' | 'fields'> => {
  const columns = bits.ue() + 1
  const rows = bits.ue() + 1
  const frames = bits.bit()
  if (frames === 0) bits.bit()
  bits.bit()
  const [left, right, top, bottom] = bits.bit() === 1 ? [bits.ue(), bits.ue(), bits.ue(), bits.ue()] : [0, 0, 0, 0]
  // Table 6-1: 4:2:0 and 4:2:2 halve the width of chroma, 4:2:0 its height.
  const unitX = chroma === 1 || chroma === 2 ? 2 : 1
  const unitY = (chroma === 1 ? 2 : 1) * (2 - frames)
  return {
    width: columns * 16 - unitX * (left + right),
    height: rows * 16 * (2 - frames) - unitY * (top + bottom),
    fields: frames === 0,
  }
}

const readVui = (bits: BitReader): Vui => {
  skipVuiHead(bits)
  const timingAt = bits.position
  const timed = bits.bit() === 1
  const frameRate = timed ? readFrameRate(bits, 2) : null
  if (timed) bits.bit()
  const nalHrd = bits.bit() === 1
  if (nalHrd) skipHrd(bits)
  const vclHrd = bits.bit() === 1
  if (vclHrd) skipHrd(bits)
  if (nalHrd || vclHrd) bits.bit()
  bits.bit()
  const known = { frameRate, timed, timingAt, restrictionAt: bits.position }
  if (bits.bit() === 0) return { ...known, reorderFrames: undefined }
  bits.bit()
  for (let field = 0; field < 4; field++) bits.ue()
  return { ...known, reorderFrames: bits.ue() }
}

const skipHrd = (bits: BitReader): void => {
  const count = Math.min(bits.ue() + 1, MAX_CPB)
  bits.skip(8)
  for (let cpb = 0; cpb < count; cpb++) {
    bits.ue()
    bits.ue()
    bits.bit()
  }
  bits.skip(20)
}
