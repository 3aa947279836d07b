/** Splits a byte stream into RTP packets: a 16-bit length before each (RFC 4571 section 2). Holds at most one partial packet. */
export class Rfc4571Reader {
  #rest: Buffer | undefined

  /** Calls back for every packet that this chunk completes. Packets are views of the chunk where they lie in one piece. */
  push(chunk: Buffer, onPacket: (packet: Buffer) => void): void {
    const data = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    let offset = 0
    while (data.length - offset >= 2) {
      const end = offset + 2 + data.readUInt16BE(offset)
      if (end > data.length) break
      // A null packet (length 0) is allowed and carries nothing.
      if (end > offset + 2) onPacket(data.subarray(offset + 2, end))
      offset = end
    }
    // At most 65,537 bytes: less than one frame is left.
    this.#rest = offset < data.length ? data.subarray(offset) : undefined
  }

  /** Drops a partial packet: its writer has ended. */
  reset(): void {
    this.#rest = undefined
  }
}

/** The bytes are not RTP framed by RFC 4571; the pipe cannot be read any further. */
export class RtpFramingError extends Error {
  constructor() {
    super('The media pipe does not carry framed RTP')
    this.name = 'RtpFramingError'
  }
}
