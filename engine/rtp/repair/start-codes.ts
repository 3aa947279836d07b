import { FRAGMENT_END } from '../../codec/rtp-layout.ts'
import { firstType, type NalFormat } from './nal-units.ts'
import { RTP_HEADER_BYTES } from './repaired-packets.ts'

/** A packet, and its payload: [start, end). */
export interface Payload {
  readonly packet: Buffer
  readonly start: number
  readonly end: number
}

interface Separated {
  readonly payloads: readonly Payload[]
  /** By how many packets there are more; the sequence numbers of the later packets of the unit count them already. */
  readonly added: number
}

const START_CODE = Buffer.from([0, 0, 1])
const MARKER = 0x80
/** NAL units that a unit is separated into; one with more stays as it is. */
const MAX_NALS = 256

/**
 * Some cameras send parameter sets and slices as one NAL unit, with the start codes of Annex B between them (no NAL unit contains
 * one, ITU-T H.264 section 7.4.1). Answers each NAL unit in a packet of its own; undefined when there is nothing to separate.
 */
export const withoutStartCodes = (format: NalFormat, payloads: readonly Payload[]): Separated | undefined => {
  const out: Payload[] = []
  let added = 0
  let found = false
  for (let at = 0; at < payloads.length; ) {
    const group = groupAt(format, payloads, at)
    const nals = group.whole === undefined ? undefined : nalUnits(group.whole)
    const [first] = group.packets
    if (nals === undefined || first === undefined) {
      for (const payload of group.packets) out.push(added === 0 ? payload : moved(payload, added))
    } else {
      found = true
      const marked = group.packets.some(({ packet }) => ((packet[1] ?? 0) & MARKER) !== 0)
      for (const [index, nal] of nals.entries()) out.push(packetOf(first, nal, added + index, marked && index === nals.length - 1))
      added += nals.length - group.packets.length
      if (added > MAX_NALS) return undefined
    }
    at += group.packets.length
  }
  return found ? { payloads: out, added } : undefined
}

interface Group {
  readonly packets: readonly Payload[]
  /** The NAL unit of these packets, where start codes may be in it. */
  readonly whole: Buffer | undefined
}

/** A packet, or the fragments of one NAL unit. */
const groupAt = (format: NalFormat, payloads: readonly Payload[], at: number): Group => {
  const { headerBytes, fragment, typeOf, headerOf } = format
  const one = payloads.slice(at, at + 1)
  const payload = bytesOf(payloads[at])
  const type = firstType(format, payload)
  if (type === undefined || !format.maySpillOver(type)) return { packets: one, whole: undefined }
  if (typeOf(payload[0] ?? 0) !== fragment) return { packets: one, whole: payload }
  const isLast = (bytes: Buffer): boolean => ((bytes[headerBytes] ?? 0) & FRAGMENT_END) !== 0
  let end = at
  while (!isLast(bytesOf(payloads[end]))) {
    end += 1
    // Another unit begins, or none: the end of this one is missing.
    if (end === payloads.length || firstType(format, bytesOf(payloads[end])) !== undefined) return { packets: one, whole: undefined }
  }
  const packets = payloads.slice(at, end + 1)
  return { packets, whole: Buffer.concat([headerOf(payload), ...packets.map((each) => bytesOf(each).subarray(headerBytes + 1))]) }
}

const bytesOf = (payload: Payload | undefined): Buffer => payload?.packet.subarray(payload.start, payload.end) ?? Buffer.alloc(0)

/** The NAL units between start codes; undefined when there are none. */
const nalUnits = (bytes: Buffer): readonly Buffer[] | undefined => {
  const units: Buffer[] = []
  let from = 0
  for (let code = bytes.indexOf(START_CODE); code !== -1; code = bytes.indexOf(START_CODE, from)) {
    units.push(bytes.subarray(from, code))
    if (units.length > MAX_NALS) return undefined
    from = code + START_CODE.length
  }
  if (from === 0) return undefined
  units.push(bytes.subarray(from))
  const nals = units.map(withoutTrailingZeros).filter(({ length }) => length > 0)
  return nals.length === 0 ? undefined : nals
}

/** Of a start code of four bytes, or trailing_zero_8bits. */
const withoutTrailingZeros = (unit: Buffer): Buffer => {
  let end = unit.length
  while (end > 0 && unit[end - 1] === 0) end -= 1
  return unit.subarray(0, end)
}

const packetOf = ({ packet }: Payload, nal: Buffer, later: number, marker: boolean): Payload => {
  const header = Buffer.from(packet.subarray(0, RTP_HEADER_BYTES))
  header[0] = 0x80
  header[1] = ((header[1] ?? 0) & ~MARKER) | (marker ? MARKER : 0)
  return moved({ packet: Buffer.concat([header, nal]), start: RTP_HEADER_BYTES, end: RTP_HEADER_BYTES + nal.length }, later)
}

const moved = ({ packet, start, end }: Payload, later: number): Payload => {
  const copy = Buffer.from(packet)
  copy.writeUInt16BE((copy.readUInt16BE(2) + later) & 0xffff, 2)
  return { packet: copy, start, end }
}
