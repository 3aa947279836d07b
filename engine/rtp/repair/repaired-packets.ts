import { MARKER, RTP_HEADER_BYTES } from '../packet/packet.ts'

/** The packets of a unit under repair, numbered in the series of their source. */
export class RepairedPackets {
  readonly packets: Buffer[] = []
  readonly sequences: number[] = []
  /** Added to the sequence numbers of the source. */
  #shift: number
  #next = 0

  constructor(shift: number) {
    this.#shift = shift
  }

  get shift(): number {
    return this.#shift
  }

  /** Packets added until the next `begin` replace the one with this sequence number. */
  begin(sequence: number): void {
    this.#next = (sequence + this.#shift) & 0xffff
    // One packet in its place moves nothing; each further one moves the packets after it.
    this.#shift -= 1
  }

  /** Adds a packet as received. */
  keep(packet: Buffer): void {
    this.packets.push(packet)
    this.sequences.push(this.#next)
    this.#next = (this.#next + 1) & 0xffff
    this.#shift += 1
  }

  /** Adds a packet with this payload; AccessUnit fills in the rest of its header. */
  add(payload: Uint8Array): void {
    const header = Buffer.alloc(RTP_HEADER_BYTES)
    header[0] = 0x80
    this.keep(Buffer.concat([header, payload]))
  }

  /** The unit is complete; `marker`: its source has marked its end, perhaps in a packet that was left out. */
  end(marker: boolean): void {
    const last = this.packets.at(-1)
    if (marker && last !== undefined) last[1] = (last[1] ?? 0) | MARKER
  }
}
