import { expect, it } from 'vitest'
import { Reception } from '../../../../engine/ingest/reception.ts'
import { formatReceiverReport, isRtcp, parseReports, parseSenderPacket } from '../../../../engine/rtp/packet/rtcp.ts'
import { rtpPacket } from '../../../helpers/rtsp/packets.ts'

const receive = (reception: Reception, sequences: readonly number[], jitterMs = 0): void => {
  for (const [at, sequence] of sequences.entries()) {
    reception.packet(rtpPacket({ sequence, timestamp: at * 3000 }), 1000 + (at * 100) / 3 + (at % 2) * jitterMs)
  }
}

it('counts losses over the wrap of the sequence number (RFC 3550 appendix A.3)', () => {
  const reception = new Reception(90_000)
  expect(reception.report(0)).toBeUndefined()
  receive(reception, [65_534, 65_535, 1, 2])
  expect(reception.report(0)).toMatchObject({ ssrc: 0x11223344, lost: 1, fractionLost: 0.2, highest: 65_536 + 2 })
  receive(reception, [3, 4])
  expect(reception.report(0)).toMatchObject({ lost: 1, fractionLost: 0 })
})

it('counts a packet that comes late as received', () => {
  const reception = new Reception(90_000)
  receive(reception, [1, 2, 5, 3, 4, 6])
  expect(reception.report(0)).toMatchObject({ lost: 0, fractionLost: 0, highest: 6 })
})

it('begins anew when the source does', () => {
  const reception = new Reception(90_000)
  receive(reception, [1, 2, 30_000, 30_001])
  expect(reception.report(0)).toMatchObject({ lost: 0, highest: 30_001 })
})

it('measures jitter in ticks (RFC 3550 appendix A.8)', () => {
  const [even, uneven] = [new Reception(90_000), new Reception(90_000)]
  const sequences = Array.from({ length: 200 }, (_, at) => at)
  receive(even, sequences)
  receive(uneven, sequences, 10)
  expect(even.report(0)?.jitter).toBeLessThan(2)
  expect(uneven.report(0)?.jitter).toBeGreaterThan(850)
  const once = new Reception(90_000)
  receive(once, [0, 1], 10)
  expect(once.report(0)?.jitter).toBeCloseTo(900 / 16, 0)
})

it('says when the last sender report came', () => {
  const reception = new Reception(90_000)
  receive(reception, [1])
  expect(reception.report(4500)).toMatchObject({ lastReport: 0, delaySeconds: 0 })
  reception.senderReport(0xabcd1234, 2000)
  expect(reception.report(4500)).toMatchObject({ lastReport: 0xabcd1234, delaySeconds: 2.5 })
})

it('is reported in a form that others read', () => {
  const report = { ssrc: 7, fractionLost: 0.25, lost: -3, highest: 70_000, jitter: 12.4, lastReport: 5, delaySeconds: 1 }
  const packet = formatReceiverReport(9, report, 'name')
  expect(parseReports(packet)).toEqual([{ ssrc: 7, fractionLost: 0.25 }])
  expect([packet.readIntBE(13, 3), packet.readUInt32BE(16), packet.readUInt32BE(20), packet.readUInt32BE(28)]).toEqual([
    -3, 70_000, 12, 65_536,
  ])
  expect(packet.toString('latin1')).toContain('name')
  expect(isRtcp(packet)).toBe(true)
})

it('reads sender reports and BYE up to the first part that is invalid', () => {
  const report = Buffer.from('80c8000611223344e1112222333344440000000100000001000000010000', 'hex').subarray(0, 28)
  const bye = Buffer.from('82cb0002aaaaaaaabbbbbbbb', 'hex')
  expect(parseSenderPacket(Buffer.concat([report, bye]))).toMatchObject({ reportTime: 0x22223333, goodbyes: [0xaaaaaaaa, 0xbbbbbbbb] })
  expect(parseSenderPacket(bye.subarray(0, 8))).toMatchObject({ reportTime: undefined, clock: undefined, goodbyes: [] })
  const cut = Buffer.from('80c8000111223344', 'hex')
  expect(parseSenderPacket(Buffer.concat([bye, cut]))).toMatchObject({
    reportTime: undefined,
    clock: undefined,
    goodbyes: [0xaaaaaaaa, 0xbbbbbbbb],
  })
  expect(parseSenderPacket(Buffer.alloc(3))).toMatchObject({ reportTime: undefined, clock: undefined, goodbyes: [] })
})
