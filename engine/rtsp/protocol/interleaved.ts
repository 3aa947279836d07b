/** RTP or RTCP inside the RTSP connection (RFC 2326 section 10.12): `$`, channel, 16-bit length, payload. */
export interface InterleavedFrame {
  readonly kind: 'interleaved'
  readonly channel: number
  readonly payload: Buffer
}

/** `$`, the first byte of a frame. */
export const DOLLAR = 0x24

/** A frame as bytes. */
export const formatInterleaved = (channel: number, payload: Buffer): Buffer => {
  const frame = Buffer.allocUnsafe(4 + payload.length)
  frame[0] = DOLLAR
  frame[1] = channel
  frame.writeUInt16BE(payload.length, 2)
  payload.copy(frame, 4)
  return frame
}
