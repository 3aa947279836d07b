/** RTP packets out of a byte stream: a 16 bit length before each (RFC 4571 section 2). Its only state is at most one packet. */
export class Rfc4571Reader {
  #rest: Buffer | undefined

  /** Calls back for every packet that this chunk completes; packets are views, of the chunk where they lie in one piece. */
  push(chunk: Buffer, onPacket: (packet: Buffer) => void): void {
    const data = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    let offset = 0
    while (data.length - offset >= 2) {
      const end = offset + 2 + data.readUInt16BE(offset)
      if (end > data.length) break
      // A null packet (length 0) is allowed and says nothing.
      if (end > offset + 2) onPacket(data.subarray(offset + 2, end))
      offset = end
    }
    // At most 65,537 bytes: what is left is less than one frame.
    this.#rest = offset < data.length ? data.subarray(offset) : undefined
  }

  /** Forgets a packet that was begun: the writer is gone. */
  reset(): void {
    this.#rest = undefined
  }
}
