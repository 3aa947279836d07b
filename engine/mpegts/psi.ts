/** A KLV stream that a program map announces. */
export interface KlvTrack {
  readonly pid: number
  readonly program: number
  /** Stream type 0x15, metadata access units on the video's clock; else 0x06 with a KLVA registration. */
  readonly synchronous: boolean
}

/** A stream of a program. */
export interface ElementaryStream {
  readonly pid: number
  /** stream_type (ISO/IEC 13818-1 table 2-34). */
  readonly type: number
  /** The four-character formats that its descriptors name, as numbers. */
  readonly formats: readonly number[]
}

interface ProgramMap {
  readonly program: number
  /** All that have a valid PID. */
  readonly streams: readonly ElementaryStream[]
  /** Its video streams, each as stream type and PID. */
  readonly video: readonly string[]
  readonly tracks: readonly KlvTrack[]
}

/** Longest PAT or PMT section (ISO/IEC 13818-1 section 2.4.4). */
const MAX_SECTION = 1024
const HEADER = 8
const CRC = 4
/** More programs or KLV streams are ignored. */
const MAX_PROGRAMS = 32
export const MAX_TRACKS = 32
/** PIDs below are reserved for tables; 0x1FFF is the null packet (section 2.4.3.3, table 2-3). */
const FIRST_STREAM_PID = 0x10
const NULL_PID = 0x1fff

const PAT_TABLE = 0x00
const PMT_TABLE = 0x02
const ASYNCHRONOUS = 0x06
const SYNCHRONOUS = 0x15
/** Stream types of video: MPEG-1, MPEG-2, MPEG-4 part 2, H.264, H.265, H.266 (section 2.4.4.9). */
const VIDEO_TYPES: ReadonlySet<number> = new Set([0x01, 0x02, 0x10, 0x1b, 0x24, 0x33])
const REGISTRATION = 0x05
const METADATA = 0x26
const KLVA = 0x4b4c5641

/** Assembles sections from the payloads of one PID (ISO/IEC 13818-1 section 2.4.4.1, pointer_field) and checks their CRC. */
export class SectionAssembler {
  #section: number[] = []
  #open = false

  push(payload: Uint8Array, starts: boolean): Uint8Array[] {
    const complete: Uint8Array[] = []
    if (!starts) {
      if (this.#open) this.#add(payload, complete)
      return complete
    }
    const pointer = 1 + (payload[0] ?? 0)
    if (this.#open) this.#add(payload.subarray(1, pointer), complete)
    this.reset()
    this.#open = true
    this.#add(payload.subarray(pointer), complete)
    return complete
  }

  reset(): void {
    this.#section = []
    this.#open = false
  }

  #add(bytes: Uint8Array, complete: Uint8Array[]): void {
    for (const octet of bytes) {
      // 0xFF in place of a table id is stuffing up to the end of the packet.
      const stuffing = this.#section.length === 0 && octet === 0xff
      if (!stuffing) this.#section.push(octet)
      const length = sectionLength(this.#section)
      if (stuffing || length > MAX_SECTION) {
        this.reset()
        return
      }
      if (this.#section.length === length) {
        const section = Uint8Array.from(this.#section)
        if (length >= HEADER + CRC && crc32(section) === 0) complete.push(section)
        this.#section = []
      }
    }
  }
}

/** Length of the section that begins with these bytes; 4 while the header is incomplete, so that reading continues. */
const sectionLength = (section: readonly number[]): number =>
  section.length < 3 ? 3 + 1 : 3 + ((((section[1] ?? 0) & 0x0f) << 8) | (section[2] ?? 0))

/** CRC-32/MPEG-2 (ISO/IEC 13818-1 annex A): 0 for a section including its CRC. */
export const crc32 = (bytes: Uint8Array): number => {
  let crc = 0xffffffff
  for (const octet of bytes) {
    crc ^= octet << 24
    for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1
  }
  return crc >>> 0
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const isCurrent = (view: DataView): boolean => (view.getUint8(5) & 1) === 1

/** The PIDs of the program maps in a program association section (section 2.4.4.3); null for another table. */
export const programMapsOf = (section: Uint8Array): readonly number[] | null => {
  const view = viewOf(section)
  if (view.getUint8(0) !== PAT_TABLE || !isCurrent(view)) return null
  const pids: number[] = []
  for (let at = HEADER; at + 4 <= section.length - CRC && pids.length < MAX_PROGRAMS; at += 4)
    if (view.getUint16(at) !== 0) pids.push(view.getUint16(at + 2) & 0x1fff) // program 0 is the network PID
  return pids
}

/** The streams in a program map section (section 2.4.4.8); null for another table. */
export const programMapOf = (section: Uint8Array): ProgramMap | null => {
  const view = viewOf(section)
  const end = section.length - CRC
  if (view.getUint8(0) !== PMT_TABLE || !isCurrent(view) || end < 12) return null
  const program = view.getUint16(3)
  const streams: ElementaryStream[] = []
  const tracks: KlvTrack[] = []
  const video: string[] = []
  let at = 12 + (view.getUint16(10) & 0x0fff)
  while (at + 5 <= end && tracks.length < MAX_TRACKS) {
    const type = view.getUint8(at)
    const pid = view.getUint16(at + 1) & 0x1fff
    const next = at + 5 + (view.getUint16(at + 3) & 0x0fff)
    if (next > end) break
    if (VIDEO_TYPES.has(type)) video.push(`${type}:${pid}`)
    if (pid >= FIRST_STREAM_PID && pid < NULL_PID) {
      const formats = formatIdentifiers(section.subarray(at + 5, next))
      streams.push({ pid, type, formats })
      if (carriesKlv(type, formats)) tracks.push({ pid, program, synchronous: type === SYNCHRONOUS })
    }
    at = next
  }
  return { program, streams, video, tracks }
}

/** 0x15 also carries ID3 in HLS, so a named format must be KLVA; 0x06 is KLV only with that registration (ST 1402). */
const carriesKlv = (type: number, formats: readonly number[]): boolean => {
  if (type !== SYNCHRONOUS && type !== ASYNCHRONOUS) return false
  return formats.includes(KLVA) || (type === SYNCHRONOUS && formats.length === 0)
}

/** The four-character formats named by registration (section 2.6.8) and metadata descriptors (section 2.6.60). */
const formatIdentifiers = (descriptors: Uint8Array): readonly number[] => {
  const view = viewOf(descriptors)
  const formats: number[] = []
  for (let at = 0; at + 2 <= descriptors.length; at += 2 + view.getUint8(at + 1)) {
    const end = Math.min(at + 2 + view.getUint8(at + 1), descriptors.length)
    const format = formatOffset(view, at, end)
    if (format !== null && format + 4 <= end) formats.push(view.getUint32(format))
  }
  return formats
}

/** Offset of the format identifier in the descriptor at `at`; null when it has none. */
const formatOffset = (view: DataView, at: number, end: number): number | null => {
  const tag = view.getUint8(at)
  if (tag === REGISTRATION) return at + 2
  if (tag !== METADATA || at + 5 > end) return null
  // metadata_application_format, its identifier when that is 0xFFFF, then metadata_format: 0xFF means that an identifier follows.
  const format = at + 4 + (view.getUint16(at + 2) === 0xffff ? 4 : 0)
  return format < end && view.getUint8(format) === 0xff ? format + 1 : null
}
