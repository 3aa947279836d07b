import { BitReader, BitWriter, withEmulation, withoutEmulation } from './bits.ts'
import { parseH264Sps } from './h264-sps.ts'
import { parseH265Timing } from './h265-vui.ts'

/** Pictures per second, a fraction. */
export interface FrameRate {
  readonly numerator: number
  readonly denominator: number
}

/** Where the VUI has its timing, and how many zero bits of an otherwise empty VUI are before and after it. */
interface Place {
  readonly vuiAt: number
  readonly timingAt: number | undefined
  readonly timed: boolean
  readonly before: number
  readonly after: number
}

/**
 * An H.264 sequence parameter set with the frame rate (section E.2.1; a picture lasts two ticks, one for each field, and
 * may last longer: fixed_frame_rate_flag is 0). Undefined when it has a plausible one, or cannot be read.
 */
export const withH264FrameRate = (nal: Uint8Array, { numerator, denominator }: FrameRate): Uint8Array | undefined => {
  const sps = parseH264Sps(nal)
  if (sps === undefined || sps.frameRate !== null) return undefined
  // Aspect ratio, overscan, signal type, chroma location; two HRDs, pic_struct, bitstream_restriction.
  return insert(nal, { ...sps, before: 4, after: 4 }, [denominator, 2 * numerator], 1)
}

/** The same for H.265 (section E.2.1; a picture lasts one tick). */
export const withH265FrameRate = (nal: Uint8Array, { numerator, denominator }: FrameRate): Uint8Array | undefined => {
  const timing = parseH265Timing(nal)
  if (timing === undefined || timing.frameRate !== null) return undefined
  // The four of H.264, neutral chroma, fields, picture structure, display window; bitstream_restriction.
  return insert(nal, { ...timing, before: 8, after: 1 }, [denominator, numerator], 2)
}

/** Writes ticks and scale, and `flags` zero bits after them when they are new. Everything else stays as it is. */
const insert = (nal: Uint8Array, { vuiAt, timingAt, timed, before, after }: Place, ticks: readonly [number, number], flags: number) => {
  const rbsp = withoutEmulation(nal)
  const from = new BitReader(rbsp)
  const to = new BitWriter()
  to.copy(from, timingAt ?? vuiAt)
  from.bit()
  if (timingAt === undefined) to.number(2 ** before, before + 1)
  to.bit(1)
  for (const value of ticks) to.number(value, 32)
  if (timed) from.skip(64)
  else to.number(0, flags)
  if (timingAt === undefined) to.number(0, after)
  to.copy(from, Math.max(0, stopBit(rbsp) - from.position))
  return withEmulation(to.finish())
}

/** Bit of rbsp_stop_one_bit: the last one that is set. */
const stopBit = (rbsp: Uint8Array): number => {
  const last = rbsp.findLastIndex((byte) => byte !== 0)
  return last * 8 + 7 - Math.log2((rbsp[last] ?? 0) & -(rbsp[last] ?? 0))
}
