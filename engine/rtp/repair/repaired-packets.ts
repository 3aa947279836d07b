import { MARKER, RTP_HEADER_BYTES } from '../packet/packet.ts'

/** The packets of a unit under repair, numbered in the series of their source. */
export class RepairedPackets {
  readonly packets: Buffer[] = []
  readonly sequences: number[] = []
  /** By how much the sequence numbers of the source are moved. */
  #shift: number
  #next = 0

  constructor(shift: number) {
    this.#shift = shift
  }

  get shift(): number {
    return this.#shift
  }

  /** What follows until the next `begin` takes the place of the packet with this sequence number. */
  begin(sequence: number): void {
    this.#next = (sequence + this.#shift) & 0xffff
    // The packet itself is one; each further one moves those after it.
    this.#shift -= 1
  }

  /** A packet as it came. */
  keep(packet: Buffer): void {
    this.packets.push(packet)
    this.sequences.push(this.#next)
    this.#next = (this.#next + 1) & 0xffff
    this.#shift += 1
  }

  /** A packet with this payload; AccessUnit fills in the rest of its header. */
  add(payload: Uint8Array): void {
    const header = Buffer.alloc(RTP_HEADER_BYTES)
    header[0] = 0x80
    this.keep(Buffer.concat([header, payload]))
  }

  /** The unit is complete; `marker`: its source has marked the end of it, perhaps in a packet that was left out. */
  end(marker: boolean): void {
    const last = this.packets.at(-1)
    if (marker && last !== undefined) last[1] = (last[1] ?? 0) | MARKER
  }
}
