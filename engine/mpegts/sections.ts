import { crc32 } from './psi.ts'

export const PMT_PID = 0x1000
export const VIDEO_PID = 0x100
export const KLV_PID = 0x101
export const SOUND_PID = 0x102

const PROGRAM = 1
/** Registration descriptor (ISO/IEC 13818-1 section 2.6.8) with the format KLVA, for asynchronous KLV (MISB ST 1402). */
const KLVA = [0x05, 4, 0x4b, 0x4c, 0x56, 0x41]
const PRIVATE_DATA = 0x06
const METADATA_IN_PES = 0x15
/**
 * Of synchronous KLV (MISB ST 1402): metadata_descriptor (section 2.6.60) with the format KLVA and metadata service 0, and
 * metadata_std_descriptor (section 2.6.62): a leak rate of 2,500 × 400 bit/s, a buffer of 256 KiB, and no rate of output.
 */
const SYNCHRONOUS_KLVA = [
  ...[0x26, 9, 0x01, 0x00, 0xff, 0x4b, 0x4c, 0x56, 0x41, 0, 0x0f],
  ...[0x27, 9, 0xc0, 0x09, 0xc4, 0xc0, 0x01, 0x00, 0xc0, 0, 0],
]

/** A section in long form (section 2.4.4.11) with its CRC; `id` is the transport stream or the program. */
const section = (table: number, id: number, version: number, body: readonly number[]): Uint8Array => {
  const length = 5 + body.length + 4
  const current = 0xc1 | (version << 1)
  const bytes = Uint8Array.of(table, 0xb0 | (length >> 8), length & 0xff, id >> 8, id & 0xff, current, 0, 0, ...body, 0, 0, 0, 0)
  new DataView(bytes.buffer).setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)))
  return bytes
}

const pid = (value: number): readonly number[] => [0xe0 | (value >> 8), value & 0xff]

const stream = (type: number, at: number, descriptors: readonly number[]): readonly number[] => [
  type,
  ...pid(at),
  0xf0 | (descriptors.length >> 8),
  descriptors.length & 0xff,
  ...descriptors,
]

/** Program association: one program. */
export const associationSection = (): Uint8Array => section(0, 1, 0, [PROGRAM >> 8, PROGRAM & 0xff, ...pid(PMT_PID)])

/** How KLV is carried: with times and the metadata access units of ISO/IEC 13818-1 section 2.12, or as private data. */
export type KlvCarriage = 'synchronous' | 'asynchronous'

const klvStream = (klv: KlvCarriage): readonly number[] =>
  klv === 'synchronous' ? stream(METADATA_IN_PES, KLV_PID, SYNCHRONOUS_KLVA) : stream(PRIVATE_DATA, KLV_PID, KLVA)

/** What a program consists of. */
export interface Program {
  /** stream_type: 0x1B for H.264, 0x24 for H.265. */
  readonly videoType: number
  readonly klv: KlvCarriage | false
  readonly sound?: { readonly streamType: number; readonly descriptors: readonly number[] } | undefined
  readonly version: number
}

/** The program: a video stream, whose packets carry the clock, and KLV and sound if there are any. The version grows with each change, modulo 32. */
export const programSection = ({ videoType, klv, sound, version }: Program): Uint8Array =>
  section(2, PROGRAM, version & 31, [
    ...pid(VIDEO_PID),
    0xf0,
    0,
    ...stream(videoType, VIDEO_PID, []),
    ...(klv === false ? [] : klvStream(klv)),
    ...(sound === undefined ? [] : stream(sound.streamType, SOUND_PID, sound.descriptors)),
  ])
