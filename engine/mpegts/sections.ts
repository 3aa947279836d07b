import { crc32 } from './psi.ts'

export const PMT_PID = 0x1000
export const VIDEO_PID = 0x100
export const KLV_PID = 0x101

const PROGRAM = 1
/** Registration descriptor (ISO/IEC 13818-1 section 2.6.8) with the format KLVA, for asynchronous KLV (MISB ST 1402). */
const KLVA = [0x05, 4, 0x4b, 0x4c, 0x56, 0x41]
const PRIVATE_DATA = 0x06

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

/** The program: a video stream, whose packets carry the clock, and KLV if there is any. The version grows with each change, modulo 32. */
export const programSection = (videoType: number, klv: boolean, version: number): Uint8Array =>
  section(2, PROGRAM, version & 31, [
    ...pid(VIDEO_PID),
    0xf0,
    0,
    ...stream(videoType, VIDEO_PID, []),
    ...(klv ? stream(PRIVATE_DATA, KLV_PID, KLVA) : []),
  ])
