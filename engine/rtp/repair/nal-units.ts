/** How H.264 and H.265 put NAL units into RTP packets (RFC 6184, RFC 7798). */
export interface NalFormat {
  /** Bytes of a NAL unit header, and of the payload header of a packet with several units or a fragment. */
  readonly headerBytes: 1 | 2
  /** Packet types with several units, and with a fragment of one. */
  readonly aggregation: number
  readonly fragment: number
  readonly typeOf: (header: number) => number
  readonly isSlice: (type: number) => boolean
  readonly delimiter: number
  /** Their types, in the order in which a decoder needs them, and the parameter of the caps that carries them. */
  readonly parameterSets: ReadonlyMap<number, string>
}

const H264_SETS = 'sprop-parameter-sets'

export const NAL_FORMATS = {
  H264: {
    headerBytes: 1,
    aggregation: 24,
    fragment: 28,
    typeOf: (header) => header & 0x1f,
    isSlice: (type) => type >= 1 && type <= 5,
    delimiter: 9,
    parameterSets: new Map([
      [7, H264_SETS],
      [8, H264_SETS],
    ]),
  },
  H265: {
    headerBytes: 2,
    aggregation: 48,
    fragment: 49,
    typeOf: (header) => (header >> 1) & 0x3f,
    isSlice: (type) => type < 32,
    delimiter: 35,
    parameterSets: new Map([
      [32, 'sprop-vps'],
      [33, 'sprop-sps'],
      [34, 'sprop-pps'],
    ]),
  },
} as const satisfies Record<string, NalFormat>

export type NalCodec = keyof typeof NAL_FORMATS

export const isNalCodec = (encodingName: string): encodingName is NalCodec => Object.hasOwn(NAL_FORMATS, encodingName)

const FRAGMENT_START = 0x80
const FRAGMENT_TYPE: Readonly<Record<1 | 2, number>> = { 1: 0x1f, 2: 0x3f }

/** The type of the NAL unit that begins with the payload; that of the first fragment's unit, undefined for a later one. */
export const firstType = (format: NalFormat, payload: Buffer): number | undefined => {
  const type = format.typeOf(payload[0] ?? 0)
  if (type !== format.fragment) return type
  const header = payload[format.headerBytes] ?? 0
  return (header & FRAGMENT_START) === 0 ? undefined : header & FRAGMENT_TYPE[format.headerBytes]
}

/** The NAL units of an aggregation packet (a 16-bit size before each); undefined when the sizes contradict its length. */
export const aggregated = (format: NalFormat, payload: Buffer): readonly Buffer[] | undefined => {
  const units: Buffer[] = []
  let at: number = format.headerBytes
  while (at < payload.length) {
    if (at + 2 > payload.length) return undefined
    const end = at + 2 + payload.readUInt16BE(at)
    if (end > payload.length || end <= at + 2 + format.headerBytes) return undefined
    units.push(payload.subarray(at + 2, end))
    at = end
  }
  return units
}
