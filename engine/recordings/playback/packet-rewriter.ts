import { CLOCK_CYCLE, pesTimeOffsets, readTime } from '../../mpegts/packet-reader.ts'
import { PACKET_BYTES } from '../../mpegts/ts-muxer.ts'

const HAS_PAYLOAD = 0x10
const HAS_ADAPTATION = 0x20
const STARTS = 0x4000
const HAS_CLOCK = 0x10

/** Gives the packets of several files one sequence of continuity counters, and their times one clock. */
export class PacketRewriter {
  readonly #next: Map<number, number>

  /** `counts`: packets of each PID that went before. */
  constructor(counts: ReadonlyMap<number, number>) {
    this.#next = new Map(counts)
  }

  /** The next counter of each PID. */
  get next(): ReadonlyMap<number, number> {
    return this.#next
  }

  /** Changes the packets in place; `shift`: ticks of 90 kHz that are added to their times. */
  rewrite(packets: Buffer, shift: number): void {
    for (let at = 0; at + PACKET_BYTES <= packets.length; at += PACKET_BYTES) {
      const header = packets.readUInt16BE(at + 1)
      const pid = header & 0x1fff
      const flags = packets[at + 3] ?? 0
      const next = this.#next.get(pid) ?? 0
      const hasPayload = (flags & HAS_PAYLOAD) !== 0
      // A packet without payload repeats the counter (ISO/IEC 13818-1 section 2.4.3.3).
      packets[at + 3] = (flags & 0xf0) | ((hasPayload ? next : next + 15) & 15)
      if (hasPayload) this.#next.set(pid, (next + 1) & 15)
      if (shift !== 0) shiftTimes(packets, at, header, flags, shift)
    }
  }
}

const shiftTimes = (packets: Buffer, at: number, header: number, flags: number, shift: number): void => {
  const length = (flags & HAS_ADAPTATION) === 0 ? -1 : (packets[at + 4] ?? 0)
  if (length >= 7 && ((packets[at + 5] ?? 0) & HAS_CLOCK) !== 0) shiftClock(packets, at + 6, shift)
  if ((header & STARTS) === 0 || (flags & HAS_PAYLOAD) === 0) return
  for (const field of pesTimeOffsets(packets, at + 5 + length, at + PACKET_BYTES)) {
    if (field >= 0) writeTime(packets, field, readTime(packets, field) + shift)
  }
}

/** The base of the program clock reference (section 2.4.3.5); its extension stays. */
const shiftClock = (packets: Buffer, at: number, shift: number): void => {
  const low = packets[at + 4] ?? 0
  const base = (packets.readUInt32BE(at) * 2 + (low >> 7) + shift) % CLOCK_CYCLE
  packets.writeUInt32BE(Math.floor(base / 2), at)
  packets[at + 4] = ((base % 2) << 7) | (low & 0x7f)
}

const writeTime = (packets: Buffer, at: number, ticks: number): void => {
  const time = ticks % CLOCK_CYCLE
  packets[at] = ((packets[at] ?? 0) & 0xf1) | (Math.floor(time / 2 ** 30) << 1)
  packets.writeUInt16BE((Math.floor(time / 2 ** 15) % 2 ** 15) * 2 + 1, at + 1)
  packets.writeUInt16BE((time % 2 ** 15) * 2 + 1, at + 3)
}
