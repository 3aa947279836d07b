import { associationSection, KLV_PID, PMT_PID, type Program, programSection, SOUND_PID, VIDEO_PID } from './sections.ts'

export const PACKET_BYTES = 188
const PAYLOAD_BYTES = 184
const CLOCK_BYTES = 8

/** PIDs with continuity counters. A `slot` is an index of this list. */
const PIDS = [0, PMT_PID, VIDEO_PID, KLV_PID, SOUND_PID] as const
const KLV_SLOT = 3

/** The next continuity counter of each PID. */
export type Counters = readonly number[]

/** Packets of one access unit or of the tables, with the counters before and after them. */
export interface Chunk {
  readonly bytes: Buffer
  readonly before: Counters
  readonly after: Counters
}

/** When a picture is shown and decoded, 90 kHz ticks; both are sent modulo 2^33. */
export interface PictureTime {
  readonly pts: number
  readonly dts: number
  readonly key: boolean
}

/** The clock of a picture, 90 kHz, and whether a decoder can start with it. */
interface Clock {
  readonly ticks: number
  readonly key: boolean
}

interface PacketOptions {
  /** Packets that come first in the buffer. */
  readonly before?: readonly Buffer[]
  readonly clock?: Clock
}

/** The clock is behind the time of decoding by this, so that a decoder has the whole picture; ticks of 90 kHz. */
const CLOCK_LEAD = 50 * 90
const MAX_PES_BYTES = 65_000
const VIDEO_STREAM_ID = 0xe0
const PRIVATE_STREAM_ID = 0xbd
const METADATA_STREAM_ID = 0xfc

/** Multiplexes pictures, KLV and sound into MPEG-TS (ISO/IEC 13818-1, MISB ST 1402): one program, with counters that continue. */
export class TsMuxer {
  readonly #counters = PIDS.map(() => 0)
  readonly #pids: readonly number[]

  /** `klvPid`: for KLV that goes into another MPEG-TS. */
  constructor(klvPid: number = KLV_PID) {
    this.#pids = PIDS.map((pid, slot) => (slot === KLV_SLOT ? klvPid : pid))
  }

  get counters(): Counters {
    return [...this.#counters]
  }

  /** Program association and program map. */
  tables(program: Program): Buffer {
    const sections = [associationSection(), programSection(program)]
    return Buffer.concat(sections.map((section, slot) => this.#packets(slot, [Uint8Array.of(0), section])))
  }

  /** A picture in Annex B, as pieces that follow one another. Its packets carry the clock, and come after those of `before`. */
  video(pieces: readonly Uint8Array[], { pts, dts, key }: PictureTime, before: readonly Buffer[] = []): Buffer {
    const header = pesHeader(VIDEO_STREAM_ID, 0, pts, dts)
    return this.#packets(2, [header, ...pieces], { before, clock: { ticks: dts - CLOCK_LEAD, key } })
  }

  /** A KLV packet, as private data; one that is too large for a PES packet goes into several. */
  klv(data: Uint8Array, pts: number): Buffer {
    const packets: Buffer[] = []
    for (let at = 0; at < data.length; at += MAX_PES_BYTES) {
      const part = data.subarray(at, at + MAX_PES_BYTES)
      packets.push(this.#packets(KLV_SLOT, [pesHeader(PRIVATE_STREAM_ID, part.length, pts, pts), part]))
    }
    return Buffer.concat(packets)
  }

  /** A KLV packet as metadata access units with the time of its picture; one that is too large for a cell goes into several. `number` counts the packets. */
  timedKlv(data: Uint8Array, pts: number, number: number): Buffer {
    const packets: Buffer[] = []
    for (let at = 0; at < data.length; at += MAX_PES_BYTES) {
      const part = data.subarray(at, at + MAX_PES_BYTES)
      const cell = cellHeader(part.length, { number, first: at === 0, last: at + part.length === data.length })
      const header = pesHeader(METADATA_STREAM_ID, cell.length + part.length, pts, pts)
      packets.push(this.#packets(KLV_SLOT, [header, cell, part]))
    }
    return Buffer.concat(packets)
  }

  /** Frames of sound, packed as their codec requires; none when they are too many for a PES packet. */
  sound(data: Uint8Array, pts: number, streamId: number): Buffer {
    if (data.length > MAX_PES_BYTES) return Buffer.alloc(0)
    return this.#packets(4, [pesHeader(streamId, data.length, pts, pts), data])
  }

  /** Packets with these pieces one after the other, in one buffer: the pieces go to its end, and from there into the packets. */
  #packets(slot: number, pieces: readonly Uint8Array[], { before = [], clock }: PacketOptions = {}): Buffer {
    const clockBytes = clock === undefined ? 0 : CLOCK_BYTES
    const size = bytesOf(pieces)
    const begin = bytesOf(before)
    const count = Math.max(1, Math.ceil((size + clockBytes) / PAYLOAD_BYTES))
    const packets = Buffer.allocUnsafeSlow(begin + count * PACKET_BYTES)
    put(before, packets, 0)
    let taken = packets.length - size
    put(pieces, packets, taken)
    for (let number = 0; number < count; number += 1) {
      const at = begin + number * PACKET_BYTES
      const adaptation = number === 0 ? clockBytes : 0
      const bytes = Math.min(PAYLOAD_BYTES - adaptation, packets.length - taken)
      const filled = PAYLOAD_BYTES - bytes
      packets.copyWithin(at + 4 + filled, taken, taken + bytes)
      this.#writeHeader(packets, at, slot, number === 0, filled > 0)
      if (filled > 0) writeAdaptation(packets, at + 4, filled, number === 0 ? clock : undefined)
      taken += bytes
    }
    return packets
  }

  #writeHeader(packets: Buffer, at: number, slot: number, starts: boolean, adaptation: boolean): void {
    const counter = this.#counters[slot] ?? 0
    this.#counters[slot] = (counter + 1) & 15
    packets[at] = 0x47
    packets.writeUInt16BE((starts ? 0x4000 : 0) | (this.#pids[slot] ?? 0), at + 1)
    packets[at + 3] = (adaptation ? 0x30 : 0x10) | counter
  }
}

const bytesOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { length }) => sum + length, 0)

const put = (pieces: readonly Uint8Array[], target: Buffer, at: number): void => {
  let to = at
  for (const piece of pieces) {
    target.set(piece, to)
    to += piece.length
  }
}

/** The adaptation field (section 2.4.3.4): the clock, whether a decoder can start here, and stuffing. */
const writeAdaptation = (packets: Buffer, at: number, bytes: number, clock: Clock | undefined): void => {
  packets[at] = bytes - 1
  if (bytes === 1) return
  packets[at + 1] = clock === undefined ? 0 : 0x10 | (clock.key ? 0x40 : 0)
  if (clock !== undefined) writeClock(packets, at + 2, clock.ticks)
  packets.fill(0xff, at + (clock === undefined ? 2 : CLOCK_BYTES), at + bytes)
}

const TICKS = 2 ** 33
const wrapped = (ticks: number): number => ((Math.round(ticks) % TICKS) + TICKS) % TICKS

/** 33 bits in 90 kHz, six reserved bits, an extension of 0. */
const writeClock = (packets: Buffer, at: number, ticks: number): void => {
  const base = wrapped(ticks)
  packets.writeUInt32BE(Math.floor(base / 2), at)
  packets.writeUInt16BE(((base % 2) << 15) | 0x7e00, at + 4)
}

/** The header of a PES packet (section 2.4.3.6), aligned with the data; without a DTS where it equals the PTS. `bytes` 0: open length. */
const pesHeader = (streamId: number, bytes: number, pts: number, dts: number): Buffer => {
  const times = pts === dts ? timeField(2, pts) : [...timeField(3, pts), ...timeField(1, dts)]
  const length = bytes === 0 ? 0 : 3 + times.length + bytes
  return Buffer.from([0, 0, 1, streamId, length >> 8, length & 0xff, 0x84, pts === dts ? 0x80 : 0xc0, times.length, ...times])
}

/** The header of a metadata access unit cell (section 2.12.4) of metadata service 0, at which decoding can begin. */
const cellHeader = (bytes: number, { number, first, last }: Readonly<{ number: number; first: boolean; last: boolean }>): Buffer =>
  Buffer.from([0, number & 0xff, (first ? 0x80 : 0) | (last ? 0x40 : 0) | 0x1f, bytes >> 8, bytes & 0xff])

const timeField = (prefix: number, ticks: number): readonly number[] => {
  const time = wrapped(ticks)
  const bits = (from: number, count: number): number => Math.floor(time / 2 ** from) % 2 ** count
  return [(prefix << 4) | (bits(30, 3) << 1) | 1, bits(22, 8), (bits(15, 7) << 1) | 1, bits(7, 8), (bits(0, 7) << 1) | 1]
}

/** Packets whose counters begin at others: a copy, or the packets themselves when nothing changes. */
export const renumbered = ({ bytes, before }: Chunk, from: Counters): Buffer => {
  const offsets = before.map((counter, slot) => ((from[slot] ?? 0) - counter) & 15)
  if (offsets.every((offset) => offset === 0)) return bytes
  const copy = Buffer.from(bytes)
  for (let at = 0; at < copy.length; at += PACKET_BYTES) {
    const slot = PIDS.indexOf((copy.readUInt16BE(at + 1) & 0x1fff) as (typeof PIDS)[number])
    const flags = copy[at + 3] ?? 0
    copy[at + 3] = (flags & 0xf0) | (((flags & 15) + (offsets[slot] ?? 0)) & 15)
  }
  return copy
}

/** The counters after a chunk that was renumbered to begin at `from`. */
export const countersAfter = ({ before, after }: Chunk, from: Counters): Counters =>
  from.map((counter, slot) => (counter + (after[slot] ?? 0) - (before[slot] ?? 0)) & 15)
