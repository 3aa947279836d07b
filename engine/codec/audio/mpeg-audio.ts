/** The header of a frame of MPEG audio (ISO/IEC 11172-3 section 2.4.1.3, 13818-3). */
interface MpegAudio {
  readonly layer: 1 | 2 | 3
  /** Of MPEG-1; else half of the rates, of MPEG-2. */
  readonly isMpeg1: boolean
  readonly rate: number
  readonly channels: number
  /** Of a frame. */
  readonly samples: number
  /** Of a frame with its header; undefined for a free format, whose frames do not state it. */
  readonly frameBytes: number | undefined
}

const RATES = [44_100, 48_000, 32_000] as const
const LAYERS = [undefined, 3, 2, 1] as const
/** Version bits → divisor of the rates; 1 is reserved. */
const DIVISORS = [4, undefined, 2, 1] as const

/** kbit/s by layer, of MPEG-1 and of MPEG-2 (section 2.4.2.3; 13818-3 section 2.4.2.3). */
const KBPS = {
  mpeg1: {
    1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  },
  mpeg2: {
    1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    3: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  },
} as const

/** Layer I counts in slots of four bytes. */
const bytesOfFrame = (
  layer: 1 | 2 | 3,
  { kbps, rate, samples, padding }: Record<'kbps' | 'rate' | 'samples' | 'padding', number>,
): number => {
  const slot = layer === 1 ? 4 : 1
  return (Math.floor((samples * kbps * 125) / rate / slot) + padding) * slot
}

/** Undefined when the bytes do not begin with a header. */
export const parseMpegAudio = (bytes: Uint8Array): MpegAudio | undefined => {
  const [sync = 0, second = 0, third = 0, fourth = 0] = bytes
  if (sync !== 0xff || (second & 0xe0) !== 0xe0) return undefined
  const divisor = DIVISORS[(second >> 3) & 3]
  const layer = LAYERS[(second >> 1) & 3]
  const rate = RATES[((third >> 2) & 3) as 0 | 1 | 2]
  if (divisor === undefined || layer === undefined || rate === undefined) return undefined
  const isMpeg1 = divisor === 1
  const samples = layer === 1 ? 384 : layer === 3 && !isMpeg1 ? 576 : 1152
  const kbps = KBPS[isMpeg1 ? 'mpeg1' : 'mpeg2'][layer][third >> 4]
  if (kbps === undefined) return undefined
  const frameBytes = kbps === 0 ? undefined : bytesOfFrame(layer, { kbps, rate: rate / divisor, samples, padding: (third >> 1) & 1 })
  return { layer, isMpeg1, rate: rate / divisor, channels: fourth >> 6 === 3 ? 1 : 2, samples, frameBytes }
}
