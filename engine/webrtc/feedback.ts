/** What a receiver says of the way of a series of packets (RFC 3550 section 6.4.1). */
export interface PathReport {
  readonly ssrc: number
  /** The part that was lost since the report before, 0 to 1. */
  readonly fraction: number
  /** The middle of the NTP time in the newest sender report, 0 before the first, and the time since it came. */
  readonly lastReport: number
  readonly delayMs: number
}

/** What a receiver says in RTCP (RFC 3550, RFC 4585, draft-alvestrand-rmcat-remb). */
export interface Feedback {
  /** Packets that it lacks. */
  readonly missing: readonly { readonly ssrc: number; readonly sequences: readonly number[] }[]
  readonly reports: readonly PathReport[]
  /** What it can receive, bits per second. */
  readonly bitrate: number | undefined
  /** It cannot go on without a key frame. */
  readonly wantsKey: boolean
}

const [RECEIVER_REPORT, SENDER_REPORT, TRANSPORT_FEEDBACK, PAYLOAD_FEEDBACK] = [201, 200, 205, 206]
const [NACK, PLI, FIR, APPLICATION] = [1, 1, 4, 15]
const REMB = 0x52454d42
/** More in one packet are not those of a receiver. */
const MAX_MISSING = 512
const BLOCK_BYTES = 24

interface Collected {
  readonly missing: { readonly ssrc: number; readonly sequences: number[] }[]
  readonly reports: PathReport[]
  bitrate: number | undefined
  wantsKey: boolean
}

/** Reads a compound packet up to its first invalid part. */
export const parseFeedback = (data: Buffer): Feedback => {
  const found: Collected = { missing: [], reports: [], bitrate: undefined, wantsKey: false }
  for (let offset = 0; offset + 4 <= data.length; ) {
    const [first = 0, type = 0] = data.subarray(offset, offset + 2)
    const end = offset + 4 * (data.readUInt16BE(offset + 2) + 1)
    if (first >> 6 !== 2 || end > data.length) break
    read(data.subarray(offset, end), { type, count: first & 0x1f }, found)
    offset = end
  }
  return found
}

const read = (packet: Buffer, { type, count }: { readonly type: number; readonly count: number }, found: Collected): void => {
  if (type === RECEIVER_REPORT) readReports(packet.subarray(8), count, found)
  else if (type === SENDER_REPORT) readReports(packet.subarray(28), count, found)
  else if (type === TRANSPORT_FEEDBACK && count === NACK) readMissing(packet, found)
  else if (type === PAYLOAD_FEEDBACK && (count === PLI || count === FIR)) found.wantsKey = true
  else if (type === PAYLOAD_FEEDBACK && count === APPLICATION) readBitrate(packet, found)
}

const readReports = (blocks: Buffer, count: number, { reports }: Collected): void => {
  for (let at = 0; at < count * BLOCK_BYTES && at + BLOCK_BYTES <= blocks.length; at += BLOCK_BYTES)
    reports.push({
      ssrc: blocks.readUInt32BE(at),
      fraction: (blocks[at + 4] ?? 0) / 256,
      lastReport: blocks.readUInt32BE(at + 16),
      delayMs: blocks.readUInt32BE(at + 20) / 65.536,
    })
}

/** RFC 4585 section 6.2.1: a sequence number, and a bit for each of the 16 that follow it. */
const readMissing = (packet: Buffer, { missing }: Collected): void => {
  if (packet.length < 16) return
  const sequences: number[] = []
  for (let at = 12; at + 4 <= packet.length && sequences.length < MAX_MISSING; at += 4) {
    const [first, bits] = [packet.readUInt16BE(at), packet.readUInt16BE(at + 2)]
    sequences.push(first)
    for (let bit = 0; bit < 16; bit += 1) if ((bits & (1 << bit)) !== 0) sequences.push((first + bit + 1) & 0xffff)
  }
  missing.push({ ssrc: packet.readUInt32BE(8), sequences })
}

const readBitrate = (packet: Buffer, found: Collected): void => {
  if (packet.length < 20 || packet.readUInt32BE(12) !== REMB) return
  const bits = packet.readUIntBE(17, 3)
  found.bitrate = (bits & 0x3ffff) * 2 ** (bits >> 18)
}
