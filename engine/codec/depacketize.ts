import type { Nal } from './nal.ts'

/** The NAL units in the RTP payloads of one access unit. What is malformed or incomplete is left out. */
export type Depacketize = (payloads: readonly Uint8Array[]) => Nal[]

/** The two codecs differ in the size of their headers and in the numbers of their packet types. */
interface Layout {
  readonly headerBytes: 1 | 2
  readonly typeOf: (header: number) => number
  readonly aggregation: number
  readonly fragmentation: number
  /** The header of the NAL unit that a first fragment begins. */
  readonly headerOf: (payload: Uint8Array) => Uint8Array
}

/** RFC 6184 sections 5.6 (single NAL unit), 5.7.1 (STAP-A 24) and 5.8 (FU-A 28): what packetization modes 0 and 1 have. */
const H264: Layout = {
  headerBytes: 1,
  typeOf: (header) => header & 0x1f,
  aggregation: 24,
  fragmentation: 28,
  headerOf: ([indicator = 0, fragment = 0]) => Uint8Array.of((indicator & 0xe0) | (fragment & 0x1f)),
}

/** RFC 7798 sections 4.4.1 (single NAL unit), 4.4.2 (aggregation 48) and 4.4.3 (fragmentation 49), without DON fields. */
const H265: Layout = {
  headerBytes: 2,
  typeOf: (header) => (header >> 1) & 0x3f,
  aggregation: 48,
  fragmentation: 49,
  headerOf: ([first = 0, second = 0, fragment = 0]) => Uint8Array.of((first & 0x81) | ((fragment & 0x3f) << 1), second),
}

/** The largest type of a NAL unit as opposed to a packet. */
const isNalType = (type: number, { aggregation }: Layout): boolean => type < aggregation

const depacketizer =
  (layout: Layout): Depacketize =>
  (payloads) => {
    const { headerBytes, typeOf, aggregation, fragmentation } = layout
    const nals: Nal[] = []
    /** The fragments of a NAL unit whose last is still to come. */
    let open: { readonly type: number; readonly pieces: Uint8Array[] } | undefined
    const add = (bytes: Uint8Array): void => {
      const type = typeOf(bytes[0] ?? 0)
      if (bytes.length > headerBytes && isNalType(type, layout)) nals.push({ type, pieces: [bytes] })
    }
    for (const payload of payloads) {
      const type = typeOf(payload[0] ?? 0)
      if (type !== fragmentation) {
        open = undefined
        if (type === aggregation) for (const bytes of aggregated(payload, headerBytes)) add(bytes)
        else add(payload)
        continue
      }
      const fragment = payload[headerBytes] ?? 0
      if ((fragment & 0x80) !== 0) {
        const header = layout.headerOf(payload)
        open = { type: typeOf(header[0] ?? 0), pieces: [header] }
      }
      open?.pieces.push(payload.subarray(headerBytes + 1))
      if (open !== undefined && (fragment & 0x40) !== 0) {
        nals.push(open)
        open = undefined
      }
    }
    return nals
  }

/** A 16-bit size before each NAL unit. */
const aggregated = (payload: Uint8Array, headerBytes: number): Uint8Array[] => {
  const units: Uint8Array[] = []
  let offset = headerBytes
  while (offset + 2 < payload.length) {
    const size = ((payload[offset] ?? 0) << 8) | (payload[offset + 1] ?? 0)
    if (offset + 2 + size > payload.length) break
    units.push(payload.subarray(offset + 2, offset + 2 + size))
    offset += 2 + size
  }
  return units
}

export const depacketizeH264: Depacketize = depacketizer(H264)
export const depacketizeH265: Depacketize = depacketizer(H265)
