/** An RTP packet, and the offsets of its payload: [start, end). */
export interface Payload {
  readonly packet: Buffer
  readonly start: number
  readonly end: number
}

/** The bytes of a payload, as a view. */
export const bytesOf = ({ packet, start, end }: Payload): Buffer => packet.subarray(start, end)
