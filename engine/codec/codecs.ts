import { BitReader, withoutEmulation } from './bits.ts'
import { type Depacketize, depacketizeH264, depacketizeH265 } from './depacketize.ts'
import { type FrameRate, withH264FrameRate, withH265FrameRate } from './frame-rate.ts'
import { frameRateOfSps, parseH264Sps } from './h264-sps.ts'
import { parseH265Sps } from './h265-sps.ts'
import { parseH265Timing } from './h265-vui.ts'
import { withoutReorderDelay } from './reorder-delay.ts'

/** What a decoder needs to know about a stream: the fields of VideoDecoderConfig (W3C WebCodecs), for Annex B. */
export interface DecoderConfig {
  readonly codec: string
  /** The size of the picture, pixels. */
  readonly codedWidth: number
  readonly codedHeight: number
}

/** What a decoder is set up for, to compare; empty before it is known. */
export const formatName = (config: DecoderConfig | undefined): string =>
  config === undefined ? '' : `${config.codec} ${config.codedWidth}x${config.codedHeight}`

export type ParameterSet = 'vps' | 'sps' | 'pps'

/** A codec as the live formats need it. */
export interface VideoCodec {
  readonly depacketize: Depacketize
  /** nal_unit_type → parameter set. */
  readonly parameterSets: ReadonlyMap<number, ParameterSet>
  /** Their order before a picture. */
  readonly order: readonly ParameterSet[]
  readonly isPicture: (type: number) => boolean
  readonly accessUnitDelimiter: number
  /** One that allows every kind of slice. */
  readonly delimiter: Uint8Array
  /** stream_type in MPEG-TS (ISO/IEC 13818-1 table 2-34). */
  readonly streamType: number
  /** The id of a parameter set; undefined when it is malformed. */
  readonly idOf: (set: ParameterSet, nal: Uint8Array) => number | undefined
  readonly configOf: (sps: Uint8Array) => DecoderConfig | undefined
  readonly isSps: (nal: Uint8Array) => boolean
  /** Frames per second that the sequence parameter set states; null when it states none. */
  readonly frameRate: (sps: Uint8Array) => number | null
  /** How many pictures a decoder may have to hold back; undefined when the parameter set does not state it. */
  readonly reorderFrames: (sps: Uint8Array) => number | undefined
  /** The sequence parameter set of a stream without reordering, so that a decoder shows each picture at once. */
  readonly withoutReorderDelay: (sps: Uint8Array) => Uint8Array
  /** The sequence parameter set with the frame rate; undefined when it has one, or is not a sequence parameter set. */
  readonly withFrameRate: (sps: Uint8Array, rate: FrameRate) => Uint8Array | undefined
  /** The caps fields with parameter sets in Base64, comma-separated. */
  readonly capsFields: readonly string[]
}

const hex = (value: number, digits = 0): string => value.toString(16).toUpperCase().padStart(digits, '0')

/** The first Exp-Golomb code after a header: the id of a picture parameter set. */
const leadingCode = (nal: Uint8Array, headerBytes: number): number =>
  new BitReader(withoutEmulation(nal.subarray(headerBytes, headerBytes + 8))).ue()

const BASELINE = 66

const H264: VideoCodec = {
  depacketize: depacketizeH264,
  parameterSets: new Map([
    [7, 'sps'],
    [8, 'pps'],
  ]),
  order: ['sps', 'pps'],
  isPicture: (type) => type >= 1 && type <= 5,
  accessUnitDelimiter: 9,
  delimiter: Uint8Array.of(0x09, 0xf0),
  streamType: 0x1b,
  idOf: (set, nal) => (set === 'sps' ? parseH264Sps(nal)?.id : leadingCode(nal, 1)),
  // RFC 6381 section 3.3: profile_idc, constraint flags and level_idc in hexadecimal.
  configOf: (nal) => {
    const sps = parseH264Sps(nal)
    if (sps === undefined) return undefined
    const codec = `avc1.${hex(sps.profile, 2)}${hex(sps.constraints, 2)}${hex(sps.level, 2)}`
    return { codec, codedWidth: sps.width, codedHeight: sps.height }
  },
  reorderFrames: (nal) => {
    const sps = parseH264Sps(nal)
    // Neither order type 2 nor the Baseline profile has B-frames.
    return sps?.pictureOrderType === 2 || sps?.profile === BASELINE ? 0 : sps?.reorderFrames
  },
  withoutReorderDelay,
  isSps: ([header = 0]) => (header & 0x1f) === 7,
  frameRate: frameRateOfSps,
  withFrameRate: withH264FrameRate,
  capsFields: ['sprop-parameter-sets'],
}

const PROFILE_SPACES = ['', 'A', 'B', 'C'] as const

const reverse32 = (bytes: Uint8Array): number => {
  const bits = new BitReader(bytes)
  let value = 0
  for (let bit = 0; bit < 32; bit++) value += bits.bit() * 2 ** bit
  return value
}

/** ISO/IEC 14496-15 section E.3: profile, compatibility flags in reverse order, tier and level, constraint bytes without trailing zeros. */
const h265CodecString = (profileTierLevel: Uint8Array): string => {
  const [first = 0] = profileTierLevel
  const constraints = [...profileTierLevel.subarray(5, 11)]
  while (constraints.at(-1) === 0) constraints.pop()
  return [
    'hev1',
    `${PROFILE_SPACES[first >> 6]}${first & 0x1f}`,
    hex(reverse32(profileTierLevel.subarray(1, 5))),
    `${(first & 0x20) === 0 ? 'L' : 'H'}${profileTierLevel[11] ?? 0}`,
    ...constraints.map((byte) => hex(byte)),
  ].join('.')
}

const H265: VideoCodec = {
  depacketize: depacketizeH265,
  parameterSets: new Map([
    [32, 'vps'],
    [33, 'sps'],
    [34, 'pps'],
  ]),
  order: ['vps', 'sps', 'pps'],
  isPicture: (type) => type < 32,
  accessUnitDelimiter: 35,
  delimiter: Uint8Array.of(0x46, 0x01, 0x50),
  streamType: 0x24,
  idOf: (set, nal) => (set === 'vps' ? (nal[2] ?? 0) >> 4 : set === 'sps' ? parseH265Sps(nal)?.id : leadingCode(nal, 2)),
  configOf: (nal) => {
    const sps = parseH265Sps(nal)
    if (sps === undefined) return undefined
    return { codec: h265CodecString(sps.profileTierLevel), codedWidth: sps.width, codedHeight: sps.height }
  },
  reorderFrames: (nal) => parseH265Sps(nal)?.reorderFrames,
  // The set always states how many pictures are reordered.
  withoutReorderDelay: (sps) => sps,
  isSps: ([header = 0]) => ((header >> 1) & 0x3f) === 33,
  frameRate: (sps) => parseH265Timing(sps)?.frameRate ?? null,
  withFrameRate: withH265FrameRate,
  capsFields: ['sprop-vps', 'sprop-sps', 'sprop-pps'],
}

/** By encoding name of RTP. */
export const CODECS: ReadonlyMap<string, VideoCodec> = new Map([
  ['H264', H264],
  ['H265', H265],
])
