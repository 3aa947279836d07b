import { describe, expect, it } from 'vitest'
import { formatGoodbye, formatSenderReport, isRtcp, parseReports } from '../../../../../engine/rtp/packet/rtcp.ts'
import { rounds } from '../../../../helpers/random.ts'
import { Random } from '../../../../helpers/rtsp/random-bytes.ts'

const REPORT = formatSenderReport(
  { ssrc: 0xdeadbeef, wallMs: 1_700_000_000_500, timestamp: 0xffffffff, packets: 3, bytes: 2 ** 32 + 5 },
  'cam@host',
)
const RECEIVER = Buffer.from('81c90007000000010000000240fffffe00010005000000640000000000000000', 'hex')

describe('RTCP', () => {
  it('sender reports carry NTP time, RTP time, counters modulo 2^32 and a CNAME', () => {
    expect(parseReports(REPORT)).toEqual([])
    expect([REPORT[1], REPORT.readUInt32BE(4), REPORT[29]]).toEqual([200, 0xdeadbeef, 202])
    expect(REPORT.readUInt32BE(8)).toBe(1_700_000_000 + 2_208_988_800)
    expect(REPORT.readUInt32BE(12)).toBe(2 ** 31)
    expect([REPORT.readUInt32BE(16), REPORT.readUInt32BE(24)]).toEqual([0xffffffff, 5])
    expect(REPORT.toString('latin1')).toContain('cam@host\0')
  })

  it('receiver reports carry losses', () => {
    expect(parseReports(RECEIVER)).toEqual([{ ssrc: 2, fractionLost: 0.25 }])
    expect(parseReports(Buffer.concat([REPORT, RECEIVER]))).toEqual([{ ssrc: 2, fractionLost: 0.25 }])
  })

  it('BYE packets name their source', () => {
    const goodbye = formatGoodbye(7)
    expect([goodbye.toString('hex'), parseReports(Buffer.concat([REPORT, goodbye]))]).toEqual(['81cb000100000007', []])
  })

  it.each([
    ['an empty packet', Buffer.alloc(0)],
    ['another version', Buffer.from('41c90001', 'hex')],
    ['a length past the end', Buffer.from('80c9000700000001', 'hex')],
    ['more blocks than bytes', Buffer.from('9fc9000100000001', 'hex')],
    ['a valid packet followed by garbage', Buffer.concat([RECEIVER, Buffer.from([1, 2])])],
  ])('%s invalidates the whole compound packet', (_, data) => {
    expect(parseReports(data)).toBeUndefined()
  })

  it.each([
    [191, false],
    [192, true],
    [200, true],
    // Feedback (RFC 4585).
    [206, true],
    [223, true],
    [224, false],
  ])('is told from RTP by its payload type: %d', (type, expected) => {
    expect(isRtcp(Buffer.of(0x80, type, 0, 0))).toBe(expected)
  })

  it('parses malformed packets without throwing', () => {
    for (let seed = 1; seed <= rounds(300); seed += 1) {
      const data = new Random(seed).mutate(Buffer.concat([REPORT, RECEIVER, formatGoodbye(1)]))
      expect(() => parseReports(data), `seed ${seed}`).not.toThrow()
    }
  })
})
