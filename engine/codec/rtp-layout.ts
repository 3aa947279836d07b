/**
 * How RTP packets carry NAL units: RFC 6184 sections 5.6 (single NAL unit), 5.7.1 (STAP-A) and 5.8 (FU-A), what packetization
 * modes 0 and 1 have; RFC 7798 sections 4.4.1 (single NAL unit), 4.4.2 (AP) and 4.4.3 (FU), without DON fields.
 */
export interface RtpLayout {
  /** Bytes of a NAL unit header, and of the payload header of a packet with several units or a fragment. */
  readonly headerBytes: 1 | 2
  /** The type in the first byte of a NAL unit or packet. */
  readonly typeOf: (header: number) => number
  /** Type of a packet with several units, a 16-bit size before each. NAL units have smaller types. */
  readonly aggregation: number
  /** Type of a packet with a fragment, whose FU header follows the payload header. */
  readonly fragment: number
  /** The NAL unit's type in the FU header. */
  readonly fragmentType: number
  /** The header of the NAL unit that a first fragment begins. */
  readonly headerOf: (payload: Uint8Array) => Uint8Array
}

/** Of the FU header: the first and the last fragment of a NAL unit. */
export const FRAGMENT_START = 0x80
export const FRAGMENT_END = 0x40

export const RTP_LAYOUTS = {
  H264: {
    headerBytes: 1,
    typeOf: (header) => header & 0x1f,
    aggregation: 24,
    fragment: 28,
    fragmentType: 0x1f,
    headerOf: ([indicator = 0, fragment = 0]) => Uint8Array.of((indicator & 0xe0) | (fragment & 0x1f)),
  },
  H265: {
    headerBytes: 2,
    typeOf: (header) => (header >> 1) & 0x3f,
    aggregation: 48,
    fragment: 49,
    fragmentType: 0x3f,
    headerOf: ([first = 0, second = 0, fragment = 0]) => Uint8Array.of((first & 0x81) | ((fragment & 0x3f) << 1), second),
  },
} as const satisfies Record<string, RtpLayout>
