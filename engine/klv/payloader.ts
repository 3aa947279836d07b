import { RTP_HEADER_BYTES } from '../rtp/packet/packet.ts'

/** Below the MTU of Ethernet, like GStreamer's payloaders. */
const MAX_PACKET_BYTES = 1400
const MAX_PAYLOAD_BYTES = MAX_PACKET_BYTES - RTP_HEADER_BYTES
const VERSION_2 = 0x80
const MARKER = 0x80
const PAYLOAD_TYPE = 97

/** Payloads KLV units as RTP: split over packets with the marker on the last (RFC 6597 section 4.2). */
export class KlvPayloader {
  #sequence = 0

  /** The RTP packets of one unit. `timestamp`: 90 kHz ticks of running time. */
  packetize(unit: Uint8Array, timestamp: number): readonly Buffer[] {
    const count = Math.max(1, Math.ceil(unit.length / MAX_PAYLOAD_BYTES))
    return Array.from({ length: count }, (_, index) => {
      const payload = unit.subarray(index * MAX_PAYLOAD_BYTES, (index + 1) * MAX_PAYLOAD_BYTES)
      const packet = Buffer.alloc(RTP_HEADER_BYTES + payload.length)
      packet.writeUInt8(VERSION_2)
      packet.writeUInt8(PAYLOAD_TYPE | (index === count - 1 ? MARKER : 0), 1)
      packet.writeUInt16BE(this.#sequence, 2)
      packet.writeUInt32BE(timestamp >>> 0, 4)
      packet.set(payload, RTP_HEADER_BYTES)
      this.#sequence = (this.#sequence + 1) & 0xffff
      return packet
    })
  }

  /** Skips a sequence number, so that a loss in the source is visible to readers. */
  skip(): void {
    this.#sequence = (this.#sequence + 1) & 0xffff
  }
}
