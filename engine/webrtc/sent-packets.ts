import type { PacketBody } from './unit-packets.ts'

/** A packet as a session numbered it. */
export interface NumberedPacket extends PacketBody {
  readonly sequence: number
  readonly timestamp: number
}

/** Packets that can be sent again: SRTP refuses older ones, and a player that lacks them has given up. */
const KEPT = 512

/** The series of packets of one SSRC in one session. Those that were sent last are kept; their bytes belong to the stream. */
export class SentPackets {
  readonly #kept: (NumberedPacket | undefined)[] = []
  #next: number

  constructor(first: number) {
    this.#next = first
  }

  add(body: PacketBody, timestamp: number): NumberedPacket {
    const packet = { ...body, timestamp, sequence: this.#next }
    this.#kept[this.#next % KEPT] = packet
    this.#next = (this.#next + 1) & 0xffff
    return packet
  }

  find(sequence: number): NumberedPacket | undefined {
    const packet = this.#kept[sequence % KEPT]
    return packet?.sequence === sequence ? packet : undefined
  }
}
