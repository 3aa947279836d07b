/** RTCP (RFC 3550 section 6): sender reports, and the receiver reports of readers. */

const SENDER_REPORT = 200
const RECEIVER_REPORT = 201
const SOURCE_DESCRIPTION = 202
const GOODBYE = 203
/** Seconds from 1900 to 1970. */
const NTP_EPOCH_SECONDS = 2_208_988_800

interface SenderReport {
  readonly ssrc: number
  /** Wall clock, milliseconds since 1970. */
  readonly wallMs: number
  /** The RTP timestamp of the same moment. */
  readonly timestamp: number
  readonly packets: number
  readonly bytes: number
}

const header = (out: Buffer, offset: number, count: number, type: number, bytes: number): void => {
  out[offset] = 0x80 | count
  out[offset + 1] = type
  out.writeUInt16BE(bytes / 4 - 1, offset + 2)
}

/** The CNAME (section 6.5) that every compound packet needs. */
const formatDescription = (ssrc: number, cname: string): Buffer => {
  const name = Buffer.from(cname.slice(0, 255), 'latin1')
  const out = Buffer.alloc(4 + Math.ceil((4 + 2 + name.length + 1) / 4) * 4)
  header(out, 0, 1, SOURCE_DESCRIPTION, out.length)
  out.writeUInt32BE(ssrc, 4)
  out[8] = 1
  out[9] = name.length
  name.copy(out, 10)
  return out
}

/** A compound packet: sender report (section 6.4.1) and the CNAME. */
export const formatSenderReport = (report: SenderReport, cname: string): Buffer => {
  const out = Buffer.alloc(28)
  header(out, 0, 0, SENDER_REPORT, 28)
  out.writeUInt32BE(report.ssrc, 4)
  out.writeUInt32BE((Math.floor(report.wallMs / 1000) + NTP_EPOCH_SECONDS) % 2 ** 32, 8)
  out.writeUInt32BE(Math.floor(((report.wallMs % 1000) / 1000) * 2 ** 32), 12)
  out.writeUInt32BE(report.timestamp >>> 0, 16)
  out.writeUInt32BE(report.packets % 2 ** 32, 20)
  out.writeUInt32BE(report.bytes % 2 ** 32, 24)
  return Buffer.concat([out, formatDescription(report.ssrc, cname)])
}

/** What a receiver reports about a sender (section 6.4.1). */
export interface ReceptionReport {
  readonly ssrc: number
  /** Since the previous report, 0 to 1. */
  readonly fractionLost: number
  /** Packets lost so far; negative with duplicates. */
  readonly lost: number
  /** Highest sequence number, extended by its cycles. */
  readonly highest: number
  /** In ticks of the RTP clock. */
  readonly jitter: number
  /** Middle 32 bits of the NTP time in the newest sender report, 0 before the first, and the time since then. */
  readonly lastReport: number
  readonly delaySeconds: number
}

/** A compound packet: receiver report (section 6.4.2) about one sender, and the CNAME. */
export const formatReceiverReport = (ssrc: number, report: ReceptionReport, cname: string): Buffer => {
  const out = Buffer.alloc(8 + BLOCK_BYTES)
  header(out, 0, 1, RECEIVER_REPORT, out.length)
  out.writeUInt32BE(ssrc, 4)
  out.writeUInt32BE(report.ssrc, 8)
  out[12] = Math.min(255, Math.floor(report.fractionLost * 256))
  out.writeIntBE(Math.max(-0x800000, Math.min(0x7fffff, report.lost)), 13, 3)
  out.writeUInt32BE(report.highest % 2 ** 32, 16)
  out.writeUInt32BE(Math.min(0xffffffff, Math.round(report.jitter)), 20)
  out.writeUInt32BE(report.lastReport, 24)
  out.writeUInt32BE(Math.min(0xffffffff, Math.round(report.delaySeconds * 65536)), 28)
  return Buffer.concat([out, formatDescription(ssrc, cname)])
}

/** BYE (section 6.6): the stream ends. */
export const formatGoodbye = (ssrc: number): Buffer => {
  const out = Buffer.alloc(8)
  header(out, 0, 1, GOODBYE, 8)
  out.writeUInt32BE(ssrc, 4)
  return out
}

interface ReportBlock {
  readonly ssrc: number
  /** Fraction of packets lost since the previous report, 0 to 1. */
  readonly fractionLost: number
}

const BLOCK_BYTES = 24

/**
 * The report blocks (section 6.4.1) of all reports in a compound packet; undefined when any of its packets is invalid
 * (appendix A.2).
 */
export const parseReports = (data: Buffer): readonly ReportBlock[] | undefined => {
  if (data.length === 0) return undefined
  const blocks: ReportBlock[] = []
  let offset = 0
  while (offset < data.length) {
    if (data.length - offset < 4 || (data[offset] ?? 0) >> 6 !== 2) return undefined
    const count = (data[offset] ?? 0) & 0x1f
    const type = data[offset + 1] ?? 0
    const end = offset + 4 * (data.readUInt16BE(offset + 2) + 1)
    if (end > data.length || contentEnd(type, count, offset) > end) return undefined
    const first = contentEnd(type, 0, offset)
    const isReport = type === SENDER_REPORT || type === RECEIVER_REPORT
    for (let at = 0; isReport && at < count; at += 1) blocks.push(parseBlock(data, first + at * BLOCK_BYTES))
    offset = end
  }
  return blocks
}

/** Offset after the `count` items of the packet at `offset`. */
const contentEnd = (type: number, count: number, offset: number): number => {
  if (type === SENDER_REPORT) return offset + 28 + BLOCK_BYTES * count
  if (type === RECEIVER_REPORT) return offset + 8 + BLOCK_BYTES * count
  return type === GOODBYE ? offset + 4 + 4 * count : offset
}

/** A moment by the wall clock of a sender, milliseconds since 1900, and as an RTP timestamp. */
export interface SenderClock {
  readonly wallMs: number
  readonly timestamp: number
}

/** What a sender says in a compound packet. */
interface SenderPacket {
  /** Middle 32 bits of the NTP time of its report. */
  readonly reportTime: number | undefined
  /** Undefined when its report states no time. */
  readonly clock: SenderClock | undefined
  /** The senders that leave (BYE). */
  readonly goodbyes: readonly number[]
}

/** Reads a compound packet up to its first invalid part. */
export const parseSenderPacket = (data: Buffer): SenderPacket => {
  let reportTime: number | undefined
  let clock: SenderClock | undefined
  const goodbyes: number[] = []
  for (let offset = 0; offset + 4 <= data.length; ) {
    const count = (data[offset] ?? 0) & 0x1f
    const type = data[offset + 1] ?? 0
    const end = offset + 4 * (data.readUInt16BE(offset + 2) + 1)
    if ((data[offset] ?? 0) >> 6 !== 2 || end > data.length || contentEnd(type, count, offset) > end) break
    if (type === SENDER_REPORT) {
      reportTime = data.readUInt32BE(offset + 10)
      const seconds = data.readUInt32BE(offset + 8)
      const wallMs = seconds * 1000 + (data.readUInt32BE(offset + 12) * 1000) / 2 ** 32
      clock = seconds === 0 ? undefined : { wallMs, timestamp: data.readUInt32BE(offset + 16) }
    }
    if (type === GOODBYE) for (let at = 0; at < count; at += 1) goodbyes.push(data.readUInt32BE(offset + 4 + 4 * at))
    offset = end
  }
  return { reportTime, clock, goodbyes }
}

/** Whether a packet on a channel is RTCP, by its payload type (RFC 5761 section 4). */
export const isRtcp = (data: Buffer): boolean => {
  const type = data[1] ?? 0
  return (data[0] ?? 0) >> 6 === 2 && type >= 192 && type <= 223
}

const parseBlock = (data: Buffer, offset: number): ReportBlock => ({
  ssrc: data.readUInt32BE(offset),
  fractionLost: (data[offset + 4] ?? 0) / 256,
})
