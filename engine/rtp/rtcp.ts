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
  readonly cumulativeLost: number
  readonly highestSequence: number
  /** In ticks of the RTP clock. */
  readonly jitter: number
}

type RtcpPacket =
  | { readonly type: 'sender_report' | 'receiver_report'; readonly ssrc: number; readonly blocks: readonly ReportBlock[] }
  | { readonly type: 'goodbye'; readonly ssrcs: readonly number[] }
  | { readonly type: 'other'; readonly packetType: number }

const parseBlocks = (data: Buffer, start: number, end: number, count: number): ReportBlock[] => {
  const blocks: ReportBlock[] = []
  for (let offset = start; offset + 24 <= end && blocks.length < count; offset += 24) {
    blocks.push({
      ssrc: data.readUInt32BE(offset),
      fractionLost: (data[offset + 4] ?? 0) / 256,
      cumulativeLost: data.readIntBE(offset + 5, 3),
      highestSequence: data.readUInt32BE(offset + 8),
      jitter: data.readUInt32BE(offset + 12),
    })
  }
  return blocks
}

const parseOne = (data: Buffer, start: number, end: number): RtcpPacket | undefined => {
  const count = (data[start] ?? 0) & 0x1f
  const packetType = data[start + 1] ?? 0
  if (packetType === GOODBYE) {
    if (start + 4 + 4 * count > end) return undefined
    return { type: 'goodbye', ssrcs: Array.from({ length: count }, (_, at) => data.readUInt32BE(start + 4 + 4 * at)) }
  }
  if (packetType !== SENDER_REPORT && packetType !== RECEIVER_REPORT) return { type: 'other', packetType }
  const blocks = start + (packetType === SENDER_REPORT ? 28 : 8)
  if (blocks + 24 * count > end) return undefined
  const type = packetType === SENDER_REPORT ? 'sender_report' : 'receiver_report'
  return { type, ssrc: data.readUInt32BE(start + 4), blocks: parseBlocks(data, blocks, end, count) }
}

/** The packets of a compound packet; undefined when any of them is invalid (RFC 3550 appendix A.2). */
export const parseRtcp = (data: Buffer): readonly RtcpPacket[] | undefined => {
  const packets: RtcpPacket[] = []
  let offset = 0
  while (offset < data.length) {
    if (data.length - offset < 4 || (data[offset] ?? 0) >> 6 !== 2) return undefined
    const end = offset + 4 * (data.readUInt16BE(offset + 2) + 1)
    if (end > data.length) return undefined
    const packet = parseOne(data, offset, end)
    if (packet === undefined) return undefined
    packets.push(packet)
    offset = end
  }
  return packets.length > 0 ? packets : undefined
}
