import { BitReader } from '../bits.ts'

/** What the head of an AudioSpecificConfig states (ISO/IEC 14496-3 section 1.6.2.1). */
export interface AacConfig {
  /** Of the core, which every decoder has: 2 is AAC LC. */
  readonly objectType: number
  /** Sampling rate of the core, Hz. */
  readonly rate: number
  readonly channels: number
  /** Samples of a frame, of the core. */
  readonly frameSamples: number
}

const RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350] as const
/** channelConfiguration → number of channels. */
const CHANNELS = [0, 1, 2, 3, 4, 5, 6, 8] as const
/** Spectral band replication, and with parametric stereo: the core comes after it. */
const EXTENSIONS: ReadonlySet<number> = new Set([5, 29])
/** Formats that AudioSpecificConfig describes and ADTS can carry: AAC Main, LC, SSR, LTP. */
const MAX_ADTS_TYPE = 4

const objectTypeOf = (bits: BitReader): number => {
  const type = bits.number(5)
  return type === 31 ? 32 + bits.number(6) : type
}

const rateOf = (bits: BitReader): number => {
  const index = bits.number(4)
  return index === 15 ? bits.number(24) : (RATES[index] ?? 0)
}

/** Undefined when it is malformed, or its channels are not one of the usual configurations. */
export const parseAacConfig = (bytes: Uint8Array): AacConfig | undefined => readAacConfig(new BitReader(bytes), bytes.length * 8)

const readAacConfig = (bits: BitReader, available: number): AacConfig | undefined => {
  if (available - bits.position < 16) return undefined
  let objectType = objectTypeOf(bits)
  const rate = rateOf(bits)
  const channels = CHANNELS[bits.number(4)] ?? 0
  if (EXTENSIONS.has(objectType)) {
    rateOf(bits)
    objectType = objectTypeOf(bits)
  }
  const frameSamples = bits.bit() === 1 ? 960 : 1024
  return rate < 1 || rate > 192_000 || channels === 0 ? undefined : { objectType, rate, channels, frameSamples }
}

/** The config of a StreamMuxConfig (section 1.7.3.2) as `config` of MP4A-LATM has it (RFC 6416): one program with one layer. */
export const parseLatmConfig = (bytes: Uint8Array): AacConfig | undefined => {
  if (bytes.length < 4) return undefined
  const bits = new BitReader(bytes)
  // audioMuxVersion 0, allStreamsSameTimeFraming 1, one program, one layer; numSubFrames in between.
  const version = bits.bit()
  const sameTime = bits.bit()
  bits.number(6)
  const programs = bits.number(4)
  const layers = bits.number(3)
  if (version !== 0 || sameTime !== 1 || programs !== 0 || layers !== 0) return undefined
  return readAacConfig(bits, bytes.length * 8)
}

const ADTS_BYTES = 7
const MAX_FRAME_BYTES = 0x1fff - ADTS_BYTES

/** A frame with its ADTS header (section 1.A.2.2), as MPEG-TS and decoders without a configuration take it; undefined when ADTS cannot carry it. */
export const withAdts = (frame: Uint8Array, { objectType, rate, channels }: AacConfig): Uint8Array | undefined => {
  const index = RATES.indexOf(rate as (typeof RATES)[number])
  const layout = CHANNELS.indexOf(channels as (typeof CHANNELS)[number])
  if (index === -1 || layout < 1 || objectType < 1 || objectType > MAX_ADTS_TYPE || frame.length > MAX_FRAME_BYTES) return undefined
  const length = frame.length + ADTS_BYTES
  const bytes = new Uint8Array(length)
  // MPEG-4, no CRC, an unknown buffer fullness, one frame.
  bytes.set([0xff, 0xf1, ((objectType - 1) << 6) | (index << 2) | (layout >> 2)])
  bytes.set([((layout & 3) << 6) | (length >> 11), (length >> 3) & 0xff, ((length & 7) << 5) | 0x1f, 0xfc], 3)
  bytes.set(frame, ADTS_BYTES)
  return bytes
}

/** What the header of an ADTS frame states. */
export interface AdtsHeader {
  /** Bytes of the frame with its header. */
  readonly length: number
  readonly headerBytes: number
  /** Frames of AAC in it; usually 1. */
  readonly blocks: number
  /** Hz */
  readonly rate: number
  readonly channels: number
  /** Its AudioSpecificConfig, hexadecimal. */
  readonly config: string
}

/** The header of the ADTS frame at an offset; undefined when none begins there. */
export const parseAdtsHeader = (bytes: Uint8Array, at: number): AdtsHeader | undefined => {
  const octet = (index: number): number => bytes[at + index] ?? 0
  // The sync word and the layer, which is 0; in between the version.
  if (octet(0) !== 0xff || (octet(1) & 0xf6) !== 0xf0) return undefined
  const rate = (octet(2) >> 2) & 15
  const layout = ((octet(2) & 1) << 2) | (octet(3) >> 6)
  const length = ((octet(3) & 3) << 11) | (octet(4) << 3) | (octet(5) >> 5)
  const headerBytes = ADTS_BYTES + ((octet(1) & 1) === 0 ? 2 : 0)
  if (RATES[rate] === undefined || length <= headerBytes) return undefined
  const config = (((octet(2) >> 6) + 1) << 11) | (rate << 7) | (layout << 3)
  const hexadecimal = config.toString(16).padStart(4, '0')
  return { length, headerBytes, blocks: (octet(6) & 3) + 1, rate: RATES[rate], channels: CHANNELS[layout] ?? 0, config: hexadecimal }
}
