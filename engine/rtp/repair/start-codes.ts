import { FRAGMENT_END } from '../../codec/rtp-layout.ts'
import { bytesOf, hasMarker, MARKER, type Payload, RTP_HEADER_BYTES, sequenceOf } from '../packet/packet.ts'
import { firstTypeOf, type NalFormat } from './nal-units.ts'

interface Separated {
  readonly payloads: readonly Payload[]
  /** Number of packets added; the sequence numbers of the later packets of the unit include them. */
  readonly added: number
}

const START_CODE = Buffer.from([0, 0, 1])
/** A unit with more NAL units stays as it is. */
const MAX_NALS = 256

/**
 * Some cameras send parameter sets and slices as one NAL unit, with the start codes of Annex B between them. A NAL unit contains none
 * (ITU-T H.264 section 7.4.1). Returns each NAL unit in a packet of its own; undefined when there is nothing to separate.
 */
export const withoutStartCodes = (format: NalFormat, payloads: readonly Payload[]): Separated | undefined => {
  let out: Payload[] | undefined
  let added = 0
  for (let at = 0; at < payloads.length; ) {
    const packets = packetsOfUnit(format, payloads, at)
    const nals = packets && nalUnits(format, wholeUnit(format, packets))
    if (packets === undefined || nals === undefined) {
      out?.push(...payloads.slice(at, at + 1).map((payload) => moved(payload, added)))
      at += 1
      continue
    }
    out ??= payloads.slice(0, at)
    const marked = packets.some(({ packet }) => hasMarker(packet))
    for (const [index, nal] of nals.entries()) out.push(packetOf(packets[0], nal, added + index, marked && index === nals.length - 1))
    added += nals.length - packets.length
    if (added > MAX_NALS) return undefined
    at += packets.length
  }
  return out && { payloads: out, added }
}

/** The packets of the NAL unit that begins here; undefined when it may have no start code in it, or its end is missing. */
const packetsOfUnit = (format: NalFormat, payloads: readonly Payload[], at: number): readonly [Payload, ...Payload[]] | undefined => {
  const first = payloads[at]
  const type = first && firstTypeOf(format, first)
  if (first === undefined || type === undefined || !format.maySpillOver(type)) return undefined
  if (!isFragment(format, first)) return first.end - first.start > START_CODE.length ? [first] : undefined
  let last = first
  let end = at + 1
  while (!isLastFragment(format, last)) {
    const next = payloads[end]
    // The end of this unit is missing.
    if (next === undefined || firstTypeOf(format, next) !== undefined) return undefined
    last = next
    end += 1
  }
  return [first, ...payloads.slice(at + 1, end)]
}

/** The byte after an empty payload is padding. */
const isFragment = ({ typeOf, fragment }: NalFormat, { packet, start, end }: Payload): boolean =>
  start < end && typeOf(packet[start] ?? 0) === fragment

const isLastFragment = ({ headerBytes }: NalFormat, payload: Payload): boolean =>
  ((bytesOf(payload)[headerBytes] ?? 0) & FRAGMENT_END) !== 0

/** The NAL unit that these packets carry. */
const wholeUnit = (format: NalFormat, packets: readonly [Payload, ...Payload[]]): Buffer => {
  const first = bytesOf(packets[0])
  if (!isFragment(format, packets[0])) return first
  return Buffer.concat([format.headerOf(first), ...packets.map((payload) => bytesOf(payload).subarray(format.headerBytes + 1))])
}

/** The NAL units between start codes (Annex B), without those that no packet can carry; undefined without start codes, or with more than `max`. */
export const nalUnits = ({ typeOf, isCarried }: NalFormat, bytes: Buffer, max = MAX_NALS): readonly Buffer[] | undefined => {
  const units: Buffer[] = []
  let from = 0
  for (let code = bytes.indexOf(START_CODE); code !== -1; code = bytes.indexOf(START_CODE, from)) {
    units.push(bytes.subarray(from, code))
    if (units.length > max) return undefined
    from = code + START_CODE.length
  }
  if (from === 0) return undefined
  units.push(bytes.subarray(from))
  const nals = units.map(withoutTrailingZeros).filter(([first]) => first !== undefined && isCarried(typeOf(first)))
  return nals.length === 0 ? undefined : nals
}

/** The zeros belong to a start code of four bytes, or are trailing_zero_8bits. */
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

const moved = (payload: Payload, later: number): Payload => {
  if (later === 0) return payload
  const { packet, start, end } = payload
  const copy = Buffer.from(packet)
  copy.writeUInt16BE((sequenceOf(copy) + later) & 0xffff, 2)
  return { packet: copy, start, end }
}
