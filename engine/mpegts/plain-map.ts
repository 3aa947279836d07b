import { crc32 } from './psi.ts'

const PACKET_BYTES = 188
const PMT_TABLE = 2
const HEADER = 12
const CRC = 4
const PRIVATE_DATA = 0x06
/** Registration descriptor with the format KLVA (MISB ST 1402). */
const KLVA = [0x05, 4, 0x4b, 0x4c, 0x56, 0x41]

interface PlainMap {
  readonly packet: Buffer
  readonly changed: readonly number[]
}

/** Whether a program map begins in this transport packet, and lies whole in it. */
export const isProgramMap = (packet: Buffer): boolean => sectionOf(packet) !== undefined

/**
 * The packet with the streams of its program map for which `isTimed` answers true announced as asynchronous KLV; undefined when there are none,
 * or no room. A stream that carries the clock stays as it is.
 */
export const plainMap = (packet: Buffer, isTimed: (pid: number) => boolean): PlainMap | undefined => {
  const section = sectionOf(packet)
  if (section === undefined) return undefined
  const clockPid = section.readUInt16BE(8) & 0x1fff
  const streams = HEADER + (section.readUInt16BE(10) & 0x0fff)
  const parts: Buffer[] = [section.subarray(0, streams)]
  const changed: number[] = []
  for (let at = streams; at + 5 <= section.length - CRC; ) {
    const pid = section.readUInt16BE(at + 1) & 0x1fff
    const next = at + 5 + (section.readUInt16BE(at + 3) & 0x0fff)
    const isChanged = pid !== clockPid && isTimed(pid)
    if (isChanged) changed.push(pid)
    parts.push(
      isChanged ? Buffer.from([PRIVATE_DATA, 0xe0 | (pid >> 8), pid & 0xff, 0xf0, KLVA.length, ...KLVA]) : section.subarray(at, next),
    )
    at = next
  }
  const written = changed.length === 0 ? undefined : withSection(packet, Buffer.concat([...parts, Buffer.alloc(CRC)]))
  return written && { packet: written, changed }
}

/** With nothing before it but stuffing. */
const sectionOf = (packet: Buffer): Buffer | undefined => {
  const starts = ((packet[1] ?? 0) & 0x40) !== 0 && ((packet[3] ?? 0) & 0xd0) === 0x10
  const hasField = ((packet[3] ?? 0) & 0x20) !== 0
  const fieldBytes = packet[4] ?? 0
  if (!starts || (hasField && fieldBytes > 0 && packet[5] !== 0)) return undefined
  const at = hasField ? 5 + fieldBytes : 4
  if (at + 5 > PACKET_BYTES || packet[at] !== 0 || packet[at + 1] !== PMT_TABLE) return undefined
  const section = packet.subarray(at + 1, at + 4 + (packet.readUInt16BE(at + 2) & 0x0fff))
  return section.length >= HEADER + CRC && crc32(section) === 0 ? section : undefined
}

const withSection = (packet: Buffer, section: Buffer): Buffer | undefined => {
  if (5 + section.length > PACKET_BYTES) return undefined
  section.writeUInt16BE((section.readUInt16BE(1) & 0xf000) | (section.length - 3), 1)
  section.writeUInt32BE(crc32(section.subarray(0, -CRC)), section.length - CRC)
  const written = Buffer.alloc(PACKET_BYTES, 0xff)
  packet.copy(written, 0, 0, 4)
  // Without an adaptation field; the section begins at once.
  written[3] = (written[3] ?? 0) & 0xdf
  written[4] = 0
  section.copy(written, 5)
  return written
}
