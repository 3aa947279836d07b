import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { DecodeClock } from '../../../../engine/mpegts/decode-clock.ts'
import { KlvDemuxer } from '../../../../engine/mpegts/klv-demuxer.ts'
import { countersAfter, PACKET_BYTES, renumbered, TsMuxer } from '../../../../engine/mpegts/ts-muxer.ts'
import { packetsOf, pidOfPacket } from '../../../helpers/media/transport-stream.ts'
import { createRandom } from '../../../helpers/random.ts'

const PROGRAM = { videoType: 0x1b, klv: 'asynchronous', version: 0 } as const

const PES_HEADER_BYTES = 19

const counterOf = (packet: Buffer): number => (packet[3] ?? 0) & 15

/** What is in the packets of a PID, without headers and stuffing. */
const payloadOf = (bytes: Buffer, pid: number): Buffer =>
  Buffer.concat(
    packetsOf(bytes)
      .filter((packet) => pidOfPacket(packet) === pid)
      .map((packet) => packet.subarray(((packet[3] ?? 0) & 0x20) === 0 ? 4 : 5 + (packet[4] ?? 0))),
  )

describe('TsMuxer', () => {
  it('fits data of every length into packets after those of before, and numbers them', () => {
    const muxer = new TsMuxer()
    const counters = new Map<number, number>()
    for (let bytes = 1; bytes < 600; bytes += 1) {
      const data = randomBytes(bytes)
      const pieces = [data.subarray(0, bytes / 3), data.subarray(bytes / 3)]
      const before = bytes % 2 === 0 ? [] : [muxer.tables(PROGRAM)]
      const packets = muxer.video(pieces, { pts: 1000 + bytes, dts: bytes, key: false }, before)
      expect(packets.subarray(0, before[0]?.length ?? 0)).toEqual(before[0] ?? Buffer.alloc(0))
      expect(packets.length % PACKET_BYTES).toBe(0)
      for (const packet of packetsOf(packets)) {
        expect([packet[0], counterOf(packet)]).toEqual([0x47, counters.get(pidOfPacket(packet)) ?? 0])
        counters.set(pidOfPacket(packet), (counterOf(packet) + 1) & 15)
      }
      expect(payloadOf(packets, 0x100).subarray(PES_HEADER_BYTES)).toEqual(data)
    }
  })

  it.each(['asynchronous', 'synchronous'] as const)('writes %s KLV that comes out byte for byte with its time, of any length', (klv) => {
    const muxer = new TsMuxer()
    const received: unknown[] = []
    const demuxer = new KlvDemuxer()
    const random = createRandom(7)
    const sent = [1, 20, 163, 164, 165, 400, 64_000, 65_000].map((length) => Buffer.from(Array.from({ length }, () => random.integer(256))))
    const feed = (bytes: Buffer): void => {
      for (const { bytes: packet, pts } of demuxer.push(bytes)) received.push([Buffer.from(packet), pts])
    }
    feed(muxer.tables({ ...PROGRAM, klv }))
    for (const [at, packet] of sent.entries()) feed(klv === 'synchronous' ? muxer.timedKlv(packet, at, at) : muxer.klv(packet, at))
    expect(demuxer.tracks).toEqual([{ pid: 0x101, program: 1, synchronous: klv === 'synchronous' }])
    expect(received).toEqual(sent.map((packet, at) => [packet, at]))
  })

  it('numbers chunks anew only where it has to', () => {
    const muxer = new TsMuxer()
    const before = muxer.counters
    const chunk = { bytes: muxer.tables(PROGRAM), before, after: muxer.counters }
    expect(renumbered(chunk, before)).toBe(chunk.bytes)
    const from = [15, 3, 0, 9]
    expect(packetsOf(renumbered(chunk, from)).map(counterOf)).toEqual([15, 3])
    expect(countersAfter(chunk, from)).toEqual([0, 4, 0, 9])
  })
})

describe('DecodeClock', () => {
  it('decodes each picture after the one before, and none later than it is shown', () => {
    const clock = new DecodeClock()
    // I P B B P B B P B B, as they are decoded.
    const shown = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8].map((frame) => frame * 3000)
    const decoded = shown.map((pts) => clock.next(pts, 1))
    expect(decoded).toEqual(decoded.toSorted((one, other) => one - other))
    expect(new Set(decoded).size).toBe(decoded.length)
    for (const [at, dts] of decoded.entries()) expect(dts).toBeLessThanOrEqual(shown[at] ?? 0)
  })

  it('decodes pictures with the same time one after the other', () => {
    const clock = new DecodeClock()
    expect([100, 100, 300].map((pts) => clock.next(pts, 1))).toEqual([99, 100, 101])
  })
})
