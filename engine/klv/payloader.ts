import { RTP_HEADER_BYTES } from '../rtp/packet/packet.ts'

/** Below the MTU of Ethernet, like GStreamer's payloaders. */
const MAX_PACKET_BYTES = 1400
const MAX_PAYLOAD_BYTES = MAX_PACKET_BYTES - RTP_HEADER_BYTES
const VERSION_2 = 0x80
const MARKER = 0x80
const PAYLOAD_TYPE = 97

/** Payloads KLV units as RTP: split over packets with the marker on the last (RFC 6597 section 4.2), framed by RFC 4571 as a child writes them. */
export class KlvPayloader {
  #sequence = 0

  /** The framed RTP packets of one unit. `timestamp`: 90 kHz ticks of running time. */
  packetize(unit: Uint8Array, timestamp: number): Buffer {
    const count = Math.max(1, Math.ceil(unit.length / MAX_PAYLOAD_BYTES))
    const framed = Buffer.alloc(unit.length + count * (2 + RTP_HEADER_BYTES))
    let at = 0
    for (let index = 0; index < count; index++) {
      const payload = unit.subarray(index * MAX_PAYLOAD_BYTES, (index + 1) * MAX_PAYLOAD_BYTES)
      at = framed.writeUInt16BE(RTP_HEADER_BYTES + payload.length, at)
      at = framed.writeUInt8(VERSION_2, at)
      at = framed.writeUInt8(PAYLOAD_TYPE | (index === count - 1 ? MARKER : 0), at)
      at = framed.writeUInt16BE(this.#sequence, at)
      at = framed.writeUInt32BE(timestamp >>> 0, at) + 4
      framed.set(payload, at)
      at += payload.length
      this.#sequence = (this.#sequence + 1) & 0xffff
    }
    return framed
  }

  /** Skips a sequence number, so that a loss in the source is visible to readers. */
  skip(): void {
    this.#sequence = (this.#sequence + 1) & 0xffff
  }
}
