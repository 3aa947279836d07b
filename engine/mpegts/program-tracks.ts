import { crc32 } from './psi.ts'

/** One stream of a program, as its program map announces it. */
export interface ProgramTrack {
  readonly pid: number
  /** h264, h265, aac, opus, mpeg-audio or klv; `other` for what this product does not write. */
  readonly name: string
  readonly isVideo: boolean
}

const HEADER = 12
const CRC = 4
const REGISTRATION = 0x05
const METADATA_IN_PES = 0x15
const PRIVATE_DATA = 0x06

const STREAM_TYPES: Readonly<Record<number, string>> = {
  3: 'mpeg-audio',
  4: 'mpeg-audio',
  15: 'aac',
  27: 'h264',
  36: 'h265',
  [METADATA_IN_PES]: 'klv',
}

const REGISTERED: Readonly<Record<string, string>> = { KLVA: 'klv', Opus: 'opus' }

const VIDEO: ReadonlySet<string> = new Set(['h264', 'h265'])

/** The streams of a program map (ISO/IEC 13818-1 section 2.4.4.8) that lies whole in the payload of one packet; undefined for anything else. */
export const programTracks = (payload: Uint8Array): readonly ProgramTrack[] | undefined => {
  const begin = 1 + (payload[0] ?? 0)
  const section = payload.subarray(begin, begin + 3 + ((((payload[begin + 1] ?? 0) & 0x0f) << 8) | (payload[begin + 2] ?? 0)))
  if (section[0] !== 2 || section.length < HEADER + CRC || crc32(section) !== 0) return undefined
  const end = section.length - CRC
  const tracks: ProgramTrack[] = []
  let at = HEADER + (twelveBits(section, 10) ?? 0)
  while (at + 5 <= end) {
    const next = at + 5 + twelveBits(section, at + 3)
    if (next > end) break
    const name = nameOf(section[at] ?? 0, section.subarray(at + 5, next))
    tracks.push({ pid: (((section[at + 1] ?? 0) & 0x1f) << 8) | (section[at + 2] ?? 0), name, isVideo: VIDEO.has(name) })
    at = next
  }
  return tracks
}

const twelveBits = (bytes: Uint8Array, at: number): number => (((bytes[at] ?? 0) & 0x0f) << 8) | (bytes[at + 1] ?? 0)

const nameOf = (type: number, descriptors: Uint8Array): string => {
  if (type !== PRIVATE_DATA) return STREAM_TYPES[type] ?? 'other'
  for (let at = 0; at + 6 <= descriptors.length; at += 2 + (descriptors[at + 1] ?? 0))
    if (descriptors[at] === REGISTRATION) return REGISTERED[String.fromCharCode(...descriptors.subarray(at + 2, at + 6))] ?? 'other'
  return 'other'
}
