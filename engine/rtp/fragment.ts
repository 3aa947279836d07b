import { hasMarker, RTP_HEADER_BYTES } from './packet.ts'
import type { Payload } from './repair/payload.ts'

/** Stays under the MTU of Ethernet with RTP, UDP, IPv6 and a tunnel around it. */
export const MAX_PACKET_BYTES = 1400

/** Splits a packet that is larger than MAX_PACKET_BYTES; the packet alone when it is not, or cannot be split. */
export type Fragmenter = (payload: Payload) => readonly Buffer[]

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
  const [indicator = 0, fu = 0] = packet.subarray(start, start + 2)
  const type = indicator & 0x1f
  if (type === 28) return part([indicator], fu, start + 2, end)
  if (type === 0 || type > 23) return undefined
  return { header: [(indicator & 0xe0) | 28, type], start: start + 1, end, first: true, last: true }
}

/** RFC 7798 section 4.4.3: FU of a single NAL unit, or of a part of one, in streams without DONL. Aggregates stay as they are. */
const h265Unit = ({ packet, start, end }: Payload): Unit | undefined => {
  const [high = 0, low = 0, fu = 0] = packet.subarray(start, start + 3)
  const type = (high >> 1) & 0x3f
  if (type === 49) return part([high, low], fu, start + 3, end)
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

const fragmenter =
  (unitOf: (payload: Payload) => Unit | undefined): Fragmenter =>
  (payload) => {
    const { packet } = payload
    if (packet.length <= MAX_PACKET_BYTES) return [packet]
    const unit = unitOf(payload)
    // A packet may be large and yet have hardly a payload: its header extension is as long as its sender likes.
    return unit === undefined || unit.start >= unit.end ? [packet] : split(packet, unit)
  }

/** Packets without header extension and padding, all but the last of the same size, so that one system call can send them all. */
const split = (packet: Buffer, { header, start, end, first, last }: Unit): readonly Buffer[] => {
  const head = RTP_HEADER_BYTES + header.length
  const size = MAX_PACKET_BYTES - head
  const count = Math.ceil((end - start) / size)
  const marker = hasMarker(packet)
  const bytes = Buffer.allocUnsafe(end - start + count * head)
  const fragments: Buffer[] = []
  for (let index = 0, from = start, at = 0; index < count; index += 1) {
    const to = Math.min(from + size, end)
    const fragment = bytes.subarray(at, at + head + to - from)
    packet.copy(fragment, 0, 0, RTP_HEADER_BYTES)
    fragment[0] = 0x80
    const final = index === count - 1
    if (marker && !final) fragment[1] = (fragment[1] ?? 0) & 0x7f
    fragment.set(header, RTP_HEADER_BYTES)
    const flags = (first && index === 0 ? START : 0) | (last && final ? END : 0)
    fragment[head - 1] = (fragment[head - 1] ?? 0) | flags
    packet.copy(fragment, head, from, to)
    fragments.push(fragment)
    at += fragment.length
    from = to
  }
  return fragments
}

const whole: Fragmenter = ({ packet }) => [packet]

/** RFC 6597 section 4.2: a KLV unit is split anywhere; only the marker tells its end. */
const klvUnit = ({ start, end }: Payload): Unit => ({ header: [], start, end, first: false, last: false })

const FRAGMENTERS: Readonly<Record<string, Fragmenter>> = {
  H264: fragmenter(h264Unit),
  H265: fragmenter(h265Unit),
  SMPTE336M: fragmenter(klvUnit),
}

/** The fragmenter for an RTP encoding name; packets of other codecs stay as they are. */
export const fragmenterOf = (encodingName: string): Fragmenter => {
  const name = encodingName.toUpperCase()
  return Object.hasOwn(FRAGMENTERS, name) ? (FRAGMENTERS[name] ?? whole) : whole
}
