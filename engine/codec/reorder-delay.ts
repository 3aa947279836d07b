import { BitReader, BitWriter, withEmulation, withoutEmulation } from './bits.ts'
import { parseH264Sps } from './h264-sps.ts'

/**
 * The sequence parameter set of a stream whose pictures are shown in the order in which they are decoded, with a VUI that says so.
 *
 * Without bitstream_restriction a decoder must expect that a picture to be shown earlier may still come, and holds back up to 16 of them
 * (H.264 section E.2.1: max_num_reorder_frames is then inferred as MaxDpbFrames). The fields written are those that would be inferred,
 * but for the two about reordering. A set that has them is returned as it is.
 */
export const withoutReorderDelay = (nal: Uint8Array): Uint8Array => {
  const sps = parseH264Sps(nal)
  if (sps === undefined || sps.reorderFrames !== undefined) return nal
  const from = new BitReader(withoutEmulation(nal))
  const to = new BitWriter()
  to.copy(from, sps.restrictionAt ?? sps.vuiAt)
  if (sps.restrictionAt === undefined) {
    to.bit(1)
    // Nothing of a VUI before its bitstream_restriction: eight flags.
    to.number(0, 8)
  }
  writeRestriction(to, sps.referenceFrames)
  return withEmulation(to.finish())
}

/** Of the fields, only motion_vectors_over_pic_boundaries_flag is no Exp-Golomb code. */
const writeRestriction = (to: BitWriter, referenceFrames: number): void => {
  to.bit(1)
  to.bit(1)
  const [bytesPerPicture, bitsPerMacroblock, vectorWidth, vectorHeight, reorderFrames] = [2, 1, 16, 16, 0]
  for (const value of [bytesPerPicture, bitsPerMacroblock, vectorWidth, vectorHeight, reorderFrames, referenceFrames]) to.ue(value)
}
