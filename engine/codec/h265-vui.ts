import type { BitReader } from './bits.ts'
import { openH265Sps } from './h265-sps.ts'
import { readFrameRate, skipVuiHead } from './vui.ts'

/** Where an H.265 sequence parameter set has its frame rate (section E.2.1), as bits without emulation prevention. */
interface H265Timing {
  /** vui_parameters_present_flag. */
  readonly vuiAt: number
  /** vui_timing_info_present_flag; undefined without a VUI. */
  readonly timingAt: number | undefined
  /** That flag. */
  readonly timed: boolean
  /** Null when there is none or it is out of range. */
  readonly frameRate: number | null
}

/** num_short_term_ref_pic_sets, and the pictures of one (section 7.4.3.2.1, section A.4.2). */
const MAX_REFERENCE_SETS = 64
const MAX_REFERENCES = 16
const MAX_LONG_TERM = 32

/** Undefined when the NAL unit is not a sequence parameter set, or cannot be read up to there. */
export const parseH265Timing = (nal: Uint8Array): H265Timing | undefined => {
  const opened = openH265Sps(nal)
  if (opened === undefined) return undefined
  const { bits, chroma, pictureOrderBits } = opened
  // The sizes of blocks and the depths of their trees.
  for (let field = 0; field < 6; field++) bits.ue()
  if (bits.bit() === 1 && bits.bit() === 1) skipScalingLists(bits, chroma)
  // Asymmetric partitions, sample adaptive offset.
  bits.skip(2)
  if (bits.bit() === 1) skipPcm(bits)
  if (!skipReferenceSets(bits) || !skipLongTerm(bits, pictureOrderBits)) return undefined
  // Temporal motion vectors, strong smoothing.
  bits.skip(2)
  const vuiAt = bits.position
  if (bits.bit() === 0) return bits.ended ? undefined : { vuiAt, timingAt: undefined, timed: false, frameRate: null }
  skipToTiming(bits)
  const timingAt = bits.position
  const timed = bits.bit() === 1
  const frameRate = timed ? readFrameRate(bits, 1) : null
  return bits.ended ? undefined : { vuiAt, timingAt, timed, frameRate }
}

/** Section 7.3.4. */
const skipScalingLists = (bits: BitReader, chroma: number): void => {
  for (let size = 0; size < 4; size++) {
    const step = size === 3 && chroma !== 3 ? 3 : 1
    for (let matrix = 0; matrix < 6; matrix += step) {
      if (bits.bit() === 0) {
        bits.ue()
        continue
      }
      if (size > 1) bits.se()
      for (let coefficient = Math.min(64, 16 << (2 * size)); coefficient > 0; coefficient--) bits.se()
    }
  }
}

const skipPcm = (bits: BitReader): void => {
  bits.skip(8)
  bits.ue()
  bits.ue()
  bits.bit()
}

/** Section 7.3.7. Returns whether there are no more than allowed. */
const skipReferenceSets = (bits: BitReader): boolean => {
  const count = bits.ue()
  if (count > MAX_REFERENCE_SETS) return false
  let references = 0
  for (let set = 0; set < count; set++) {
    references = set > 0 && bits.bit() === 1 ? skipPredicted(bits, references) : skipListed(bits)
    if (references > MAX_REFERENCES) return false
  }
  return true
}

/** A set coded as the difference to the previous one, which has `before` pictures. Returns its number of pictures. */
const skipPredicted = (bits: BitReader, before: number): number => {
  bits.bit()
  bits.ue()
  let references = 0
  // used_by_curr_pic_flag; without it, use_delta_flag.
  for (let picture = 0; picture <= before; picture++) if (bits.bit() === 1 || bits.bit() === 1) references += 1
  return references
}

const skipListed = (bits: BitReader): number => {
  const references = bits.ue() + bits.ue()
  for (let picture = 0; picture < Math.min(references, MAX_REFERENCES); picture++) {
    bits.ue()
    bits.bit()
  }
  return references
}

const skipLongTerm = (bits: BitReader, pictureOrderBits: number): boolean => {
  if (bits.bit() === 0) return true
  const count = bits.ue()
  bits.skip(Math.min(count, MAX_LONG_TERM) * (pictureOrderBits + 1))
  return count <= MAX_LONG_TERM
}

const skipToTiming = (bits: BitReader): void => {
  skipVuiHead(bits)
  // Neutral chroma, fields, picture structure.
  bits.skip(3)
  if (bits.bit() === 1) for (let side = 0; side < 4; side++) bits.ue()
}
