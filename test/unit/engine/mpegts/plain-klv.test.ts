import { expect, it } from 'vitest'
import { KlvDemuxer } from '../../../../engine/mpegts/klv-demuxer.ts'
import { PlainKlv } from '../../../../engine/mpegts/plain-klv.ts'
import { DESCRIPTORS, KLV_PID, TsMuxer } from '../../../fixtures/klv/ts-muxer.ts'
import { packetsOf, pidOfPacket } from '../../../helpers/media/transport-stream.ts'

const PACKETS = [1, 100, 400].map((length) => new Uint8Array(length).fill(length & 0xff))

/** What comes out of a stream in pieces of this length, and what was announced. */
const passed = (stream: Buffer, piece: number) => {
  const parts: Buffer[] = []
  const announced: boolean[] = []
  const plain = new PlainKlv((synchronous) => announced.push(synchronous))
  for (let at = 0; at < stream.length; at += piece) parts.push(plain.pass(stream.subarray(at, at + piece)))
  return { bytes: Buffer.concat(parts), announced }
}

const unitsOf = (bytes: Buffer) => {
  const demuxer = new KlvDemuxer()
  return { units: demuxer.push(bytes), tracks: demuxer.tracks, damaged: demuxer.counters.damaged }
}

it.each([188, 100, 1316, 100_000])(
  'makes synchronous KLV asynchronous, with its times, and changes nothing else: pieces of %i bytes',
  (piece) => {
    const muxer = new TsMuxer()
    const parts = PACKETS.flatMap((klv, at) => [
      muxer.tables(0x15, DESCRIPTORS.synchronous),
      muxer.video(),
      muxer.synchronous(at * 3000, klv),
    ])
    const stream = Buffer.concat(parts)
    const { bytes, announced } = passed(stream, piece)
    const { units, tracks, damaged } = unitsOf(bytes)
    expect(units).toEqual(PACKETS.map((klv, at) => ({ pid: KLV_PID, pts: at * 3000, bytes: klv })))
    expect([tracks, damaged, announced]).toEqual([[{ pid: KLV_PID, program: 1, synchronous: false }], 0, [true]])
    const others = (of: Buffer) => packetsOf(of).filter((packet) => ![KLV_PID, 0x20].includes(pidOfPacket(packet)))
    expect(others(bytes)).toEqual(others(stream))
  },
)

it.each([
  ['asynchronous KLV', 0x06, DESCRIPTORS.asynchronous, [false]],
  ['ID3 of HLS', 0x15, DESCRIPTORS.id3, []],
])('leaves %s as it is', (_what, type, descriptors, expected) => {
  const muxer = new TsMuxer()
  const stream = Buffer.concat([muxer.tables(type, descriptors), muxer.video(), muxer.asynchronous(1, PACKETS[1] ?? new Uint8Array())])
  const { bytes, announced } = passed(stream, 188)
  expect(bytes).toEqual(stream)
  expect(announced).toEqual(expected)
})

it('passes on what is no MPEG-TS', () => {
  const noise = Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) % 251))
  const { bytes } = passed(noise, 777)
  expect(bytes).toEqual(noise.subarray(0, bytes.length))
  expect(noise.length - bytes.length).toBeLessThan(188)
})
