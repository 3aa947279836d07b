import { type ProgramTrack, programTracks } from './program-tracks.ts'
import { PACKET_BYTES } from './ts-muxer.ts'

/** A picture begins here. */
export interface PictureStart {
  /** Offset of its first packet; of the tables before it for a key picture. */
  readonly at: number
  readonly key: boolean
  /** 33 bits of 90 kHz. */
  readonly pts: number
  readonly dts: number
}

/** Clock values of MPEG-TS are modulo this. */
export const CLOCK_CYCLE = 2 ** 33
const SYNC = 0x47
const STARTS = 0x4000
const HAS_PAYLOAD = 0x10
const HAS_ADAPTATION = 0x20
const RANDOM_ACCESS = 0x40

/**
 * Reads the packets of our own MPEG-TS: where pictures begin, what the program consists of, and how many packets of each PID there are,
 * which is what continuity counters count. Each call continues where the one before ended; `bytes` are whole packets.
 */
export class PacketReader {
  /** Packets with payload per PID. */
  readonly counts = new Map<number, number>()
  #tracks: readonly ProgramTrack[] = []
  #mapPid = -1
  #map: Uint8Array | undefined
  #videoPid = -1
  /** Where the tables began that no picture has followed yet. */
  #tablesAt: number | undefined

  get tracks(): readonly ProgramTrack[] {
    return this.#tracks
  }

  get videoPid(): number {
    return this.#videoPid
  }

  /** Calls back for each picture that begins in these packets; `base` is added to the offsets. False when these are no packets. */
  read(bytes: Buffer, onPicture: (picture: PictureStart) => void, base = 0): boolean {
    for (let at = 0; at + PACKET_BYTES <= bytes.length; at += PACKET_BYTES) {
      if (bytes[at] !== SYNC) return false
      const header = bytes.readUInt16BE(at + 1)
      const flags = bytes[at + 3] ?? 0
      const pid = header & 0x1fff
      if ((flags & HAS_PAYLOAD) !== 0) this.counts.set(pid, (this.counts.get(pid) ?? 0) + 1)
      if ((header & STARTS) === 0) continue
      const payload = at + 4 + ((flags & HAS_ADAPTATION) === 0 ? 0 : 1 + (bytes[at + 4] ?? 0))
      const end = at + PACKET_BYTES
      if (pid === 0) this.#readAssociation(bytes.subarray(payload, end), base + at)
      else if (pid === this.#mapPid) this.#readMap(bytes.subarray(payload, end))
      else if (pid === this.#videoPid) this.#readPicture(bytes, at, payload, base, onPicture)
    }
    return true
  }

  #readAssociation(payload: Uint8Array, at: number): void {
    this.#tablesAt ??= at
    // One program: its PID is in the first entry (ISO/IEC 13818-1 section 2.4.4.3).
    const entry = 1 + (payload[0] ?? 0) + 8
    this.#mapPid = (((payload[entry + 2] ?? 0) & 0x1f) << 8) | (payload[entry + 3] ?? 0)
  }

  #readMap(payload: Uint8Array): void {
    if (this.#map !== undefined && Buffer.compare(this.#map, payload) === 0) return
    const tracks = programTracks(payload)
    if (tracks === undefined) return
    this.#map = Uint8Array.from(payload)
    this.#tracks = tracks
    this.#videoPid = tracks.find(({ isVideo }) => isVideo)?.pid ?? -1
  }

  #readPicture(bytes: Buffer, at: number, payload: number, base: number, onPicture: (picture: PictureStart) => void): void {
    const times = pesTimes(bytes, payload, at + PACKET_BYTES)
    const key = payload > at + 5 && ((bytes[at + 5] ?? 0) & RANDOM_ACCESS) !== 0
    if (times !== undefined) onPicture({ at: key ? (this.#tablesAt ?? base + at) : base + at, key, ...times })
    this.#tablesAt = undefined
  }
}

/** Offsets of the time fields of the PES packet at `payload`, as [PTS, DTS]; -1 where there is none. */
export const pesTimeOffsets = (bytes: Buffer, payload: number, end: number): readonly [number, number] => {
  if (payload + 14 > end || bytes.readUIntBE(payload, 3) !== 1) return [-1, -1]
  const flags = (bytes[payload + 7] ?? 0) >> 6
  return [flags >= 2 ? payload + 9 : -1, flags === 3 && payload + 19 <= end ? payload + 14 : -1]
}

const pesTimes = (bytes: Buffer, payload: number, end: number): { readonly pts: number; readonly dts: number } | undefined => {
  const [pts, dts] = pesTimeOffsets(bytes, payload, end)
  if (pts < 0) return undefined
  const shown = readTime(bytes, pts)
  return { pts: shown, dts: dts < 0 ? shown : readTime(bytes, dts) }
}

/** 33 bits in five bytes with marker bits (section 2.4.3.6). */
export const readTime = (bytes: Buffer, at: number): number =>
  (((bytes[at] ?? 0) >> 1) & 7) * 2 ** 30 + ((bytes.readUInt16BE(at + 1) >> 1) << 15) + (bytes.readUInt16BE(at + 3) >> 1)

/** Ticks from one clock value to another, also over the end of the cycle: between minus and plus half of it. */
export const ticksBetween = (from: number, to: number): number => {
  const difference = (((to - from) % CLOCK_CYCLE) + CLOCK_CYCLE) % CLOCK_CYCLE
  return difference < CLOCK_CYCLE / 2 ? difference : difference - CLOCK_CYCLE
}
