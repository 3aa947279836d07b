import { BitReader, withoutEmulation } from './bits.ts'

/** What is read of an H.265 sequence parameter set (section 7.3.2.2). */
interface H265Sps {
  readonly id: number
  /** profile_tier_level, section 7.3.3: the 12 bytes up to the level. */
  readonly profileTierLevel: Uint8Array
  /** The picture without its cropping, pixels. */
  readonly width: number
  readonly height: number
  /** sps_max_num_reorder_pics of the highest sub-layer. */
  readonly reorderFrames: number
}

const MAX_BYTES = 4096
const PROFILE_BITS = 88
const LEVEL_BITS = 8

/** What was read, and what is needed to read on. */
interface Opened {
  readonly sps: H265Sps
  readonly bits: BitReader
  /** chroma_format_idc. */
  readonly chroma: number
  /** log2_max_pic_order_cnt_lsb. */
  readonly pictureOrderBits: number
}

/** Undefined when the NAL unit is not a complete sequence parameter set. */
export const parseH265Sps = (nal: Uint8Array): H265Sps | undefined => openH265Sps(nal)?.sps

/** Reads up to sps_max_latency_increase_plus1. */
export const openH265Sps = (nal: Uint8Array): Opened | undefined => {
  if ((nal[0] ?? 0) >> 1 !== 33 || nal.length > MAX_BYTES) return undefined
  const rbsp = withoutEmulation(nal)
  const bits = new BitReader(rbsp)
  bits.skip(16 + 4)
  const subLayers = bits.number(3)
  bits.bit()
  const profileTierLevel = rbsp.slice(3, 3 + (PROFILE_BITS + LEVEL_BITS) / 8)
  bits.skip(PROFILE_BITS + LEVEL_BITS)
  skipSubLayers(bits, subLayers)
  const id = bits.ue()
  const chroma = bits.ue()
  const size = readSize(bits, chroma)
  for (const _depth of ['luma', 'chroma']) bits.ue()
  const pictureOrderBits = bits.ue() + 4
  const reorderFrames = readReorder(bits, subLayers)
  if (bits.ended || id > 15 || reorderFrames > 16) return undefined
  return { sps: { id, profileTierLevel, ...size, reorderFrames }, bits, chroma, pictureOrderBits }
}

const skipSubLayers = (bits: BitReader, count: number): void => {
  const present = Array.from({ length: count }, () => [bits.bit(), bits.bit()] as const)
  if (count > 0) bits.skip(2 * (8 - count))
  for (const [profile, level] of present) bits.skip(PROFILE_BITS * profile + LEVEL_BITS * level)
}

const readSize = (bits: BitReader, chroma: number): { readonly width: number; readonly height: number } => {
  const separate = chroma === 3 && bits.bit() === 1
  const [width, height] = [bits.ue(), bits.ue()]
  const [left, right, top, bottom] = bits.bit() === 1 ? [bits.ue(), bits.ue(), bits.ue(), bits.ue()] : [0, 0, 0, 0]
  const unitX = !separate && (chroma === 1 || chroma === 2) ? 2 : 1
  const unitY = chroma === 1 ? 2 : 1
  return { width: width - unitX * (left + right), height: height - unitY * (top + bottom) }
}

const readReorder = (bits: BitReader, subLayers: number): number => {
  let reorder = 0
  for (let layer = bits.bit() === 1 ? 0 : subLayers; layer <= subLayers; layer++) {
    bits.ue()
    reorder = bits.ue()
    bits.ue()
  }
  return reorder
}
