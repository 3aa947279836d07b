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

/** A compound packet: sender report (section 6.4.1) and the CNAME (section 6.5) that every compound packet needs. */
export const formatSenderReport = (report: SenderReport, cname: string): Buffer => {
  const name = Buffer.from(cname.slice(0, 255), 'latin1')
  const description = 4 + Math.ceil((4 + 2 + name.length + 1) / 4) * 4
  const out = Buffer.alloc(28 + description)
  header(out, 0, 0, SENDER_REPORT, 28)
  out.writeUInt32BE(report.ssrc, 4)
  out.writeUInt32BE((Math.floor(report.wallMs / 1000) + NTP_EPOCH_SECONDS) % 2 ** 32, 8)
  out.writeUInt32BE(Math.floor(((report.wallMs % 1000) / 1000) * 2 ** 32), 12)
  out.writeUInt32BE(report.timestamp >>> 0, 16)
  out.writeUInt32BE(report.packets % 2 ** 32, 20)
  out.writeUInt32BE(report.bytes % 2 ** 32, 24)
  header(out, 28, 1, SOURCE_DESCRIPTION, description)
  out.writeUInt32BE(report.ssrc, 32)
  out[36] = 1
  out[37] = name.length
  name.copy(out, 38)
  return out
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

const parseBlock = (data: Buffer, offset: number): ReportBlock => ({
  ssrc: data.readUInt32BE(offset),
  fractionLost: (data[offset + 4] ?? 0) / 256,
})
