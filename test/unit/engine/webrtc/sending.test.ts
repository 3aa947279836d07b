import { describe, expect, it, vi } from 'vitest'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { parseFeedback } from '../../../../engine/webrtc/feedback.ts'
import { RtpSink } from '../../../../engine/webrtc/rtp-sink.ts'
import { unitPackets } from '../../../../engine/webrtc/unit-packets.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'
import { beginStream, H264_CAPS, IDR, rtpPacket } from '../../../helpers/rtsp/packets.ts'

/** RTCP: a generic NACK of the packets from `first` on, by the bits of RFC 4585. */
const nack = (ssrc: number, first: number, bits = 0): Buffer => {
  const out = Buffer.alloc(16)
  out.writeUInt32BE(0x81cd0003)
  out.writeUInt32BE(ssrc, 8)
  out.writeUInt16BE(first, 12)
  out.writeUInt16BE(bits, 14)
  return out
}

/** A sink for the pictures of a stream, and the packets that it sent. */
const setUp = (delayExtension?: number) => {
  const { stream } = beginStream({ timeline: new Timeline(0), now: () => performance.now() }, H264_CAPS)
  const sent: Buffer[] = []
  const track = { ssrc: 99, payloadType: 102, packets: unitPackets(stream, 'H264'), delayExtension }
  const sink = new RtpSink({ send: (packet) => sent.push(Buffer.from(packet)) }, [track])
  stream.onUnit((unit) => sink.send(0, unit))
  let sequence = 0
  const feed = (bytes: number): void => {
    const payload = Buffer.concat([IDR, Buffer.alloc(bytes - IDR.length, 1)])
    stream.ingestPacket(rtpPacket({ sequence: sequence++, timestamp: sequence * 3000, payload }))
  }
  return { sink, sent, feed }
}

const header = (packet: Buffer) => ({ type: packet[1], sequence: packet.readUInt16BE(2), ssrc: packet.readUInt32BE(8) })

describe('a session', () => {
  fakeTimersInEachTest()

  it('sends packets of at most 1,200 bytes with its own payload type and numbers without a gap', () => {
    const { sent, feed } = setUp()
    feed(5000)
    feed(100)
    expect(sent.length).toBeGreaterThan(5)
    const [first = expect.fail('Nothing was sent')] = sent
    expect(sent.map(header).map(({ sequence, ssrc }) => [(sequence - header(first).sequence) & 0xffff, ssrc])).toEqual(
      sent.map((_, at) => [at, 99]),
    )
    expect(Math.max(...sent.map(({ length }) => length))).toBeLessThanOrEqual(1200)
    // The marker is on the last packet of each picture.
    expect(sent.map(({ 1: type = 0 }) => type & 0x7f)).toEqual(sent.map(() => 102))
    expect(sent.filter(({ 1: type = 0 }) => type > 0x7f)).toHaveLength(2)
  })

  it('asks for no playout delay where that was agreed on', () => {
    const { sent, feed } = setUp(5)
    feed(100)
    expect(sent[0]?.subarray(12, 20).toString('hex')).toBe('bede000152000000')
    expect((sent[0]?.[0] ?? 0) & 0x10).toBe(0x10)
  })

  it('sends again what a player lacks, as it was, and nothing else', () => {
    const { sink, sent, feed } = setUp()
    feed(5000)
    const before = [...sent]
    const first = header(before[0] ?? Buffer.alloc(12)).sequence
    sink.resend(parseFeedback(nack(99, first + 1, 0b10)))
    sink.resend(parseFeedback(nack(1234, first)))
    sink.resend(parseFeedback(nack(99, (first + 5000) & 0xffff)))
    expect(sent.slice(before.length)).toEqual([before[1], before[3]])
  })

  it('sends only so many packets again', () => {
    const { sink, sent, feed } = setUp()
    feed(100)
    const [only = expect.fail('Nothing was sent')] = sent
    for (let round = 0; round < 3000; round += 1) sink.resend(parseFeedback(nack(99, header(only).sequence)))
    expect(sent.length).toBeLessThan(1200)
  })

  it('sends a large picture at a pace, and says when it is done', () => {
    const { sink, sent, feed } = setUp()
    const ready = vi.fn()
    sink.onReady = ready
    for (let picture = 0; picture < 5; picture += 1) feed(60_000)
    expect(sink.busy).toBe(true)
    const atOnce = sent.reduce((bytes, { length }) => bytes + length, 0)
    expect(atOnce).toBeLessThan(80_000)
    vi.advanceTimersByTime(100)
    expect(sink.busy).toBe(false)
    expect(ready).toHaveBeenCalledOnce()
    expect(sent.reduce((bytes, { length }) => bytes + length, 0)).toBeGreaterThan(300_000)
  })
})

describe('feedback', () => {
  it('has losses, the bit rate and the wish for a key frame of a compound packet', () => {
    const report = Buffer.alloc(32)
    report.writeUInt32BE(0x81c90007)
    report.writeUInt32BE(99, 8)
    report[12] = 64
    report.writeUInt32BE(0x12345678, 24)
    report.writeUInt32BE(32768, 28)
    const pli = Buffer.alloc(12)
    pli.writeUInt32BE(0x81ce0002)
    // Exponent 2, mantissa 250,000: 1 Mbit/s.
    const remb = Buffer.from('8fce0005000000010000000052454d42010bd09000000063', 'hex')
    expect(parseFeedback(Buffer.concat([report, pli, remb]))).toEqual({
      missing: [],
      reports: [{ ssrc: 99, fraction: 0.25, lastReport: 0x12345678, delayMs: 500 }],
      bitrate: 1_000_000,
      wantsKey: true,
    })
  })

  it('is read up to its first invalid part', () => {
    const none = { missing: [], reports: [], bitrate: undefined, wantsKey: false }
    for (const data of [
      Buffer.alloc(0),
      Buffer.alloc(3),
      Buffer.from('81c900ff', 'hex'),
      Buffer.from('01c90000', 'hex'),
      Buffer.from('9fc90001000000019fcd0000', 'hex'),
    ])
      expect(parseFeedback(data)).toEqual(none)
  })
})
