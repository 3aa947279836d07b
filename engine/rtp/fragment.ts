import type { Payload } from './packet/packet.ts'
import { checkedPayloadOf, hasMarker, RTP_HEADER_BYTES } from './packet/packet.ts'
import type { SequenceNumbers } from './sequence-numbers.ts'

/** A packet of a source passes as it is up to this size: 1,500 bytes of Ethernet less the headers of IPv6 and UDP. */
export const MAX_PASSED_BYTES = 1452
/** Packets cut here leave room for a tunnel as well. */
export const MAX_CUT_BYTES = 1400

/** Packets in the place of the first `replaced` packets of a unit. */
interface Recut {
  readonly packets: readonly Buffer[]
  readonly replaced: number
}

/**
 * Takes the packets of an access unit and their sequence numbers, and cuts what begins at index `from`: fragments of a NAL unit are
 * put together, up to a loss, and cut evenly when one of them is too large. All other packets stay as they are.
 */
export type Fragmenter = (payloads: readonly Payload[], sequences: readonly number[], from: number) => Recut

/** A NAL unit, or part of one: the header of each of its fragments without S and E, and the bytes that follow it. */
interface Unit {
  readonly header: readonly number[]
  readonly start: number
  readonly end: number
  readonly first: boolean
  readonly last: boolean
}

const [START, END] = [0x80, 0x40]

/** RFC 6184: FU-A (section 5.8) of a single NAL unit, or of a part of one. Aggregates and FU-B stay as they are. */
const h264Unit = ({ packet, start, end }: Payload): Unit | undefined => {
  const indicator = packet[start] ?? 0
  const type = indicator & 0x1f
  if (type === 28) return part([indicator], packet[start + 1] ?? 0, start + 2, end)
  if (type === 0 || type > 23) return undefined
  return { header: [(indicator & 0xe0) | 28, type], start: start + 1, end, first: true, last: true }
}

/** RFC 7798 section 4.4.3: FU of a single NAL unit, or of a part of one, in streams without DONL. Aggregates stay as they are. */
const h265Unit = ({ packet, start, end }: Payload): Unit | undefined => {
  const high = packet[start] ?? 0
  const low = packet[start + 1] ?? 0
  const type = (high >> 1) & 0x3f
  if (type === 49) return part([high, low], packet[start + 2] ?? 0, start + 3, end)
  if (type > 47) return undefined
  return { header: [(high & 0x81) | (49 << 1), low, type], start: start + 2, end, first: true, last: true }
}

const part = (payloadHeader: readonly number[], fu: number, start: number, end: number): Unit => ({
  header: [...payloadHeader, fu & ~(START | END)],
  start,
  end,
  first: (fu & START) !== 0,
  last: (fu & END) !== 0,
})

/** Bytes of a packet: the largest that passes as it is, and the largest that is made. */
interface PacketSizes {
  readonly passed: number
  readonly cut: number
}

const OF_READERS: PacketSizes = { passed: MAX_PASSED_BYTES, cut: MAX_CUT_BYTES }

const fragmenter =
  (unitOf: (payload: Payload) => Unit | undefined, sizes: PacketSizes): Fragmenter =>
  (payloads, sequences, from) => {
    const units = unitsAt(payloads, sequences, from, unitOf)
    const received = payloads.slice(from, from + Math.max(units.length, 1))
    const fits = received.every(({ packet }) => packet.length <= sizes.passed)
    return units.length === 0 || fits ? asReceived(received) : { packets: cut(received, units, sizes.cut), replaced: received.length }
  }

/** The unit in a packet, and its other fragments in the packets that follow. */
const unitsAt = (
  payloads: readonly Payload[],
  sequences: readonly number[],
  from: number,
  unitOf: (payload: Payload) => Unit | undefined,
): readonly Unit[] => {
  const units: Unit[] = []
  const expected = sequences[from] ?? 0
  for (let at = from; at < payloads.length; at += 1) {
    const payload = payloads[at]
    const unit = payload === undefined ? undefined : unitOf(payload)
    // A packet may be large and yet have hardly a payload: its header extension is as long as its sender likes.
    if (unit === undefined || unit.start >= unit.end) break
    const lost = sequences[at] !== ((expected + at - from) & 0xffff)
    if (at > from && (lost || unit.first || !sameHeader(unit, units[0]))) break
    units.push(unit)
    if (unit.last) break
  }
  return units
}

const sameHeader = ({ header }: Unit, other: Unit | undefined): boolean =>
  header.length === other?.header.length && header.every((byte, at) => byte === other.header[at])

const asReceived = (payloads: readonly Payload[]): Recut => ({
  packets: payloads.map(({ packet }) => packet),
  replaced: payloads.length,
})

/** Packets without header extension and padding, all but the last of the same size, so that one system call can send them all. */
const cut = (payloads: readonly Payload[], units: readonly Unit[], maxBytes: number): readonly Buffer[] => {
  const [first] = payloads
  const [{ header, first: begins } = NOTHING] = units
  if (first === undefined) return []
  const pieces = payloads.map(({ packet }, at) => packet.subarray(units[at]?.start, units[at]?.end))
  const [only = first.packet] = pieces
  const data = pieces.length === 1 ? only : Buffer.concat(pieces)
  const marked = payloads.some(({ packet }) => hasMarker(packet))
  const ends = units.at(-1)?.last === true
  const head = RTP_HEADER_BYTES + header.length
  const size = Math.ceil(data.length / Math.ceil(data.length / (maxBytes - head)))
  const count = Math.ceil(data.length / size)
  const bytes = Buffer.allocUnsafe(data.length + count * head)
  return Array.from({ length: count }, (_, index) => {
    const from = index * size
    const part = data.subarray(from, from + size)
    const begin = from + index * head
    const fragment = bytes.subarray(begin, begin + head + part.length)
    first.packet.copy(fragment, 0, 0, RTP_HEADER_BYTES)
    fragment[0] = 0x80
    const final = index === count - 1
    fragment[1] = ((fragment[1] ?? 0) & 0x7f) | (marked && final ? 0x80 : 0)
    fragment.set(header, RTP_HEADER_BYTES)
    const flags = (begins && index === 0 ? START : 0) | (ends && final ? END : 0)
    fragment[head - 1] = (fragment[head - 1] ?? 0) | flags
    part.copy(fragment, head)
    return fragment
  })
}

const NOTHING: Pick<Unit, 'header' | 'first'> = { header: [], first: false }

const whole: Fragmenter = (payloads, _sequences, from) => asReceived(payloads.slice(from, from + 1))

/** RFC 6597 section 4.2: a KLV unit is split anywhere; only the marker shows its end. */
const klvUnit = ({ start, end }: Payload): Unit => ({ header: [], start, end, first: false, last: false })

const UNITS: ReadonlyMap<string, (payload: Payload) => Unit | undefined> = new Map([
  ['H264', h264Unit],
  ['H265', h265Unit],
  ['SMPTE336M', klvUnit],
])

/** The fragmenter for an RTP encoding name; packets of other codecs stay as they are. */
export const fragmenterOf = (encodingName: string, sizes: PacketSizes = OF_READERS): Fragmenter => {
  const unitOf = UNITS.get(encodingName.toUpperCase())
  return unitOf === undefined ? whole : fragmenter(unitOf, sizes)
}

interface NumberedPackets {
  readonly parts: readonly Buffer[]
  /** One for each part, in the series of readers. */
  readonly sequences: readonly number[]
}

/** Cuts the packets of an access unit that are too large, and numbers them. `given`: their numbers in the series of their source. */
export const numbered = (
  packets: readonly Buffer[],
  given: readonly number[],
  series: SequenceNumbers,
  fragment: Fragmenter | undefined,
): NumberedPackets => {
  if (fragment === undefined || packets.every(({ length }) => length <= MAX_PASSED_BYTES)) {
    return { parts: packets, sequences: given.map((sequence) => series.map(sequence)) }
  }
  const payloads = packets.map(checkedPayloadOf)
  const parts: Buffer[] = []
  const sequences: number[] = []
  for (let at = 0; at < packets.length; ) {
    const { packets: recut, replaced } = fragment(payloads, given, at)
    const [first = 0] = given.slice(at, at + replaced).map((sequence) => series.map(sequence))
    for (const [index, packet] of recut.entries()) {
      parts.push(packet)
      sequences.push((first + index) & 0xffff)
    }
    series.insert(recut.length - replaced)
    at += replaced
  }
  return { parts, sequences }
}
