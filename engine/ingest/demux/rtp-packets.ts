import { MARKER, RTP_HEADER_BYTES } from '../../rtp/packet/packet.ts'
import type { RtpStream } from '../../rtp/stream.ts'

/** Wraps payloads into RTP for a stream. */
export class RtpPackets {
  readonly #stream: RtpStream
  #sequence = 0

  constructor(stream: RtpStream) {
    this.#stream = stream
  }

  /** Sends what belongs to one moment, the marker on its last packet. `ticks`: of the clock of the RTP; they may exceed 32 bits. */
  send(payloads: readonly Uint8Array[], { type, ticks }: { readonly type: number; readonly ticks: number }): void {
    const timestamp = Math.round(ticks) >>> 0
    for (const [at, payload] of payloads.entries()) {
      const packet = Buffer.allocUnsafe(RTP_HEADER_BYTES + payload.length)
      packet[0] = 0x80
      packet[1] = type | (at === payloads.length - 1 ? MARKER : 0)
      packet.writeUInt16BE(this.#sequence, 2)
      packet.writeUInt32BE(timestamp, 4)
      packet.writeUInt32BE(0, 8)
      packet.set(payload, RTP_HEADER_BYTES)
      this.skip()
      this.#stream.ingestPacket(packet)
    }
  }

  /** Leaves out a sequence number, so that readers see a loss. */
  skip(): void {
    this.#sequence = (this.#sequence + 1) & 0xffff
  }
}
