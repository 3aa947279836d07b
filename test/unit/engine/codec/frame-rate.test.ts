import { describe, expect, it } from 'vitest'
import { BitWriter, withEmulation } from '../../../../engine/codec/bits.ts'
import { withH264FrameRate, withH265FrameRate } from '../../../../engine/codec/frame-rate.ts'
import { frameRateOfSps } from '../../../../engine/codec/h264-sps.ts'
import { parseH265Timing } from '../../../../engine/codec/h265-vui.ts'
import { Random } from '../../../helpers/rtsp/random-bytes.ts'

const nal = (base64: string): Buffer => Buffer.from(base64, 'base64')
const text = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString('base64')

const H264_WITHOUT_VUI = 'Z0LAHoyNQFAX/LAPCIRq'
const H265_WITHOUT_VUI = 'QgEBAWAAAAMAkAAAAwAAAwA8oAoIDxZZWaSTKyA='

/** The set that `-bsf:v h264_metadata=tick_rate=60` of FFmpeg 5.1 makes of the first one, or `hevc_metadata=tick_rate=25`. */
describe('a set that says the frame rate is the one of FFmpeg', () => {
  it.each([
    ['openh264, no VUI', H264_WITHOUT_VUI, 'Z0LAHoyNQFAX/LCAAAADAIAAAB4HhEI1'],
    ['a VUI without timing', 'Z0LAHoyNQFAX/LNQECAgeEQjUA==', 'Z0LAHoyNQFAX/LNQECAkAAADAAQAAAMA8DwiEag='],
    [
      'x264, the nanoseconds of its clock',
      'Z0LAFdoFB+wFqDAwNSgAAAMAC7msoAOKA+gfcvdAPFi6gA==',
      'Z0LAFdoFB+wFqDAwNSgAAAMACAAAAwHjigPoH3L3QDxYuoA=',
    ],
  ])('H.264, %s', (_, before, after) => {
    expect(text(withH264FrameRate(nal(before), { numerator: 30, denominator: 1 }))).toBe(after)
    expect(frameRateOfSps(nal(after))).toBe(30)
  })

  it.each([
    ['no VUI', H265_WITHOUT_VUI, 'QgEBAWAAAAMAkAAAAwAAAwA8oAoIDxZZWaSTK4BAAAADAEAAAAZC'],
    [
      'scaling lists, a VUI without timing',
      'QgEBAWAAAAMAkAAAAwAAAwA8oAoIDxZZWaSTleAtQECAgCA=',
      'QgEBAWAAAAMAkAAAAwAAAwA8oAoIDxZZWaSTleAtQECAgQAAAwABAAADABkI',
    ],
    [
      'the ticks of the clock of RTP',
      'QgEBAWAAAAMAkAAAAwAAAwAeoCCBBZZWaSTK8BaAgAAAAwCAAK/IBA==',
      'QgEBAWAAAAMAkAAAAwAAAwAeoCCBBZZWaSTK8BaAgAAAAwCAAAAMhA==',
    ],
    ['scaling lists, no VUI', 'QgEBAWAAAAMAkAAAAwAAAwA8oAoIDxZZWaSTlZA=', 'QgEBAWAAAAMAkAAAAwAAAwA8oAoIDxZZWaSTlcAgAAADACAAAAMDIQ=='],
  ])('H.265, %s', (_, before, after) => {
    expect(text(withH265FrameRate(nal(before), { numerator: 25, denominator: 1 }))).toBe(after)
    expect(withH265FrameRate(nal(after), { numerator: 25, denominator: 1 })).toBeUndefined()
  })

  it('29.97 are a fraction', () => {
    const told = withH264FrameRate(nal(H264_WITHOUT_VUI), { numerator: 30_000, denominator: 1001 })
    expect(frameRateOfSps(told ?? new Uint8Array())).toBeCloseTo(29.97, 3)
  })
})

describe('a set that is left as it is', () => {
  const rate = { numerator: 30, denominator: 1 }
  it.each([
    ['it says a rate', withH264FrameRate, 'Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA=='],
    ['it is truncated', withH264FrameRate, 'Z0LAHoyN'],
    ['it is a picture parameter set', withH264FrameRate, 'aMuMsg=='],
    ['it is one of H.265', withH264FrameRate, H265_WITHOUT_VUI],
    ['x265 says a rate', withH265FrameRate, 'QgEBBAgAAAMAmAgAAAMAAD+QAUEB4ilLKzSSZX/4AAgAC1BgYGBAAAADAEAAAAeC'],
    ['it is a truncated one of H.265', withH265FrameRate, 'QgEBAWAAAAMAkAAAAwAAAwA8oAoI'],
    ['it is one of H.264', withH265FrameRate, H264_WITHOUT_VUI],
    ['it is empty', withH265FrameRate, ''],
  ])('%s', (_, change, set) => {
    expect(change(nal(set), rate)).toBeUndefined()
  })

  it('random bytes end neither', () => {
    const random = new Random(7)
    let count = 0
    for (let round = 0; round < 5000; round += 1) {
      for (const head of [Buffer.of(0x67), nal(H265_WITHOUT_VUI).subarray(0, 24)]) {
        const bytes = Buffer.concat([head, random.bytes(round % 80)])
        for (const change of [withH264FrameRate, withH265FrameRate]) {
          const told = change(bytes, rate)
          if (told === undefined) continue
          count += 1
          if (change(told, rate) !== undefined) throw new Error(`told twice: ${bytes.toString('hex')}`)
        }
      }
    }
    expect(count).toBeGreaterThan(100)
  })
})

/** The rest of an H.265 set from `num_short_term_ref_pic_sets` on. */
interface Rest {
  /** Two of these, or two sets of which the second is predicted from the first. */
  readonly sets: 'listed' | 'predicted' | 'too many'
  readonly longTerm: number
  readonly pcm: boolean
}

const camera = ({ sets, longTerm, pcm }: Rest): Uint8Array => {
  const to = new BitWriter()
  for (const byte of nal(H265_WITHOUT_VUI).subarray(0, 2)) to.number(byte, 8)
  // Ids, one layer; Main profile at level 4; 4:2:0 of 64 x 64 without a window; 8 bits; order of 8 bits; buffering once.
  to.number(0b00000001, 8)
  to.number(0x01, 8)
  to.number(0x60000000, 32)
  to.number(0, 48)
  to.number(120, 8)
  for (const value of [0, 1, 64, 64]) to.ue(value)
  to.bit(0)
  for (const value of [0, 0, 4]) to.ue(value)
  to.bit(1)
  for (const value of [4, 0, 0]) to.ue(value)
  for (const value of [0, 3, 0, 3, 0, 0]) to.ue(value)
  to.number(0, 3)
  to.bit(pcm ? 1 : 0)
  if (pcm) {
    to.number(0x77, 8)
    to.ue(0)
    to.ue(2)
    to.bit(0)
  }
  to.ue(sets === 'too many' ? 65 : 2)
  to.ue(2)
  to.ue(1)
  for (let picture = 0; picture < 3; picture += 1) {
    to.ue(picture)
    to.bit(1)
  }
  if (sets === 'predicted') {
    to.number(0b10, 2)
    to.ue(0)
    // One of the four is not used, and one neither used nor kept.
    to.number(0b1_01_00_1, 6)
  } else {
    to.bit(0)
    to.ue(1)
    to.ue(0)
    to.ue(0)
    to.bit(1)
  }
  to.bit(longTerm > 0 ? 1 : 0)
  if (longTerm > 0) to.ue(longTerm)
  for (let picture = 0; picture < longTerm; picture += 1) to.number(1, 9)
  // Temporal vectors, smoothing, no VUI, no extension.
  to.number(0b1100, 4)
  return withEmulation(to.finish())
}

describe('an H.265 set of a camera', () => {
  it.each<Rest>([
    { sets: 'listed', longTerm: 0, pcm: false },
    { sets: 'listed', longTerm: 2, pcm: true },
    { sets: 'predicted', longTerm: 0, pcm: false },
    { sets: 'predicted', longTerm: 32, pcm: true },
  ])('is read up to its end: %o', (rest) => {
    const set = camera(rest)
    const told = withH265FrameRate(set, { numerator: 25, denominator: 1 })
    const timing = parseH265Timing(told ?? set)
    expect(timing).toMatchObject({ timed: true, vuiAt: parseH265Timing(set)?.vuiAt })
    // 84 bits more, and nothing but the end after them.
    expect((timing?.timingAt ?? 0) - (timing?.vuiAt ?? 0)).toBe(9)
  })

  it.each<Rest>([
    { sets: 'too many', longTerm: 0, pcm: false },
    { sets: 'listed', longTerm: 33, pcm: false },
  ])('with more than is allowed is left as it is: %o', (rest) => {
    expect(parseH265Timing(camera(rest))).toBeUndefined()
  })
})
