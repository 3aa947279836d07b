import type { BitReader } from './bits.ts'

const EXTENDED_SAR = 255

/** Skips what a VUI of H.264 and H.265 begins with: aspect ratio, overscan, signal type, chroma location (section E.1.1, E.2.1). */
export const skipVuiHead = (bits: BitReader): void => {
  if (bits.bit() === 1 && bits.number(8) === EXTENDED_SAR) bits.skip(32)
  if (bits.bit() === 1) bits.bit()
  if (bits.bit() === 1) {
    bits.skip(4)
    if (bits.bit() === 1) bits.skip(24)
  }
  if (bits.bit() === 1) {
    bits.ue()
    bits.ue()
  }
}

/** Of a timing with other rates nothing is believed: some encoders write the resolution of their clock instead. */
const [MIN_RATE, MAX_RATE] = [1, 240]

/** Reads num_units_in_tick and time_scale; returns pictures per second, null when out of range. */
export const readFrameRate = (bits: BitReader, ticksPerPicture: number): number | null => {
  const unitsInTick = bits.number(32)
  const rate = bits.number(32) / (ticksPerPicture * unitsInTick)
  return rate >= MIN_RATE && rate <= MAX_RATE ? rate : null
}
