/** The RTP fixed header (RFC 3550 section 5.1), read in place. */

export const RTP_HEADER_BYTES = 12
/** The marker, in the second byte. */
export const MARKER = 0x80

/** An RTP packet, and the offsets of its payload: [start, end). */
export interface Payload {
  readonly packet: Buffer
  readonly start: number
  readonly end: number
}

/** The bytes of a payload, as a view. */
export const bytesOf = ({ packet, start, end }: Payload): Buffer => packet.subarray(start, end)

export const sequenceOf = (packet: Buffer): number => packet.readUInt16BE(2)
export const timestampOf = (packet: Buffer): number => packet.readUInt32BE(4)
export const ssrcOf = (packet: Buffer): number => packet.readUInt32BE(8)
export const payloadTypeOf = (packet: Buffer): number => (packet[1] ?? 0) & 0x7f
export const hasMarker = (packet: Buffer): boolean => ((packet[1] ?? 0) & MARKER) !== 0

/** The payload of a packet; undefined when the packet is not RTP version 2 or its lengths contradict each other. */
export const payloadOf = (packet: Buffer): Payload | undefined => {
  const first = packet[0] ?? 0
  if (packet.length < RTP_HEADER_BYTES || first >> 6 !== 2) return undefined
  let start = RTP_HEADER_BYTES + 4 * (first & 0x0f)
  if ((first & 0x10) !== 0) {
    if (start + 4 > packet.length) return undefined
    start += 4 + 4 * packet.readUInt16BE(start + 2)
  }
  const padding = (first & 0x20) === 0 ? 0 : (packet[packet.length - 1] ?? 0)
  const end = packet.length - padding
  if (start > end || ((first & 0x20) !== 0 && padding === 0)) return undefined
  return { packet, start, end }
}

/** The payload of a packet whose header was checked before. */
export const checkedPayloadOf = (packet: Buffer): Payload => payloadOf(packet) ?? { packet, start: packet.length, end: packet.length }

/** The payloads of such packets, as views. */
export const payloadsOf = (packets: readonly Buffer[]): readonly Buffer[] => packets.map((packet) => bytesOf(checkedPayloadOf(packet)))
