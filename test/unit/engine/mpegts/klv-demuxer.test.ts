import { describe, expect, it } from 'vitest'
import { encodePacket } from '../../../../engine/klv/st0601/encode.ts'
import { KlvStreamParser } from '../../../../engine/klv/st0601/stream-parser.ts'
import { KlvDemuxer, type KlvUnit } from '../../../../engine/mpegts/klv-demuxer.ts'
import { toHex } from '../../../fixtures/klv/hex.ts'
import { flightItems } from '../../../fixtures/klv/local-set.ts'
import { DYNAMIC_CONSTANT, DYNAMIC_ONLY } from '../../../fixtures/klv/st0902-packets.ts'
import { cell, DESCRIPTORS, KLV_PID, pes, section, TsMuxer } from '../../../fixtures/klv/ts-muxer.ts'

const PACKETS = Array.from({ length: 20 }, (_, i) => encodePacket(flightItems(i)))
/** Begins just before the 33-bit clock wraps. */
const ptsAt = (i: number): number => (2 ** 33 - 45_000 + i * 9000) % 2 ** 33
const glue = (...parts: readonly Uint8Array[]): Uint8Array => {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

const multiplex = {
  asynchronous: (): Uint8Array => {
    const mux = new TsMuxer()
    return glue(mux.tables(0x06, DESCRIPTORS.asynchronous), ...PACKETS.flatMap((klv, i) => [mux.video(), mux.asynchronous(ptsAt(i), klv)]))
  },
  synchronous: (): Uint8Array => {
    const mux = new TsMuxer()
    return glue(mux.tables(0x15, DESCRIPTORS.synchronous), ...PACKETS.flatMap((klv, i) => [mux.video(), mux.synchronous(ptsAt(i), klv)]))
  },
}

const feed = (reader: KlvDemuxer, bytes: Uint8Array, size = bytes.length): KlvUnit[] => {
  const units: KlvUnit[] = []
  for (let at = 0; at < bytes.length; at += size) units.push(...reader.push(bytes.subarray(at, at + size)))
  return units
}
const hexes = (units: readonly (KlvUnit | Uint8Array)[]): string[] => units.map((unit) => toHex('bytes' in unit ? unit.bytes : unit))

describe.each(['asynchronous', 'synchronous'] as const)('%s KLV', (kind) => {
  const stream = multiplex[kind]()

  it.each([1, 187, 188, 189, 1316, 1_000_000])('is complete and has its time stamps when the stream is split every %d bytes', (size) => {
    const reader = new KlvDemuxer()
    const units = feed(reader, stream, size)
    expect(hexes(units)).toEqual(hexes(PACKETS))
    expect(units.map(({ pts }) => pts)).toEqual(PACKETS.map((_, i) => ptsAt(i)))
    expect(reader.tracks).toEqual([{ pid: KLV_PID, program: 1, synchronous: kind === 'synchronous' }])
    expect(reader.counters).toMatchObject({ damaged: 0, skippedBytes: 0 })
  })

  it('is returned with the packet that completes it, not with the next one', () => {
    const reader = new KlvDemuxer()
    expect(feed(reader, stream.subarray(0, -188))).toHaveLength(19)
    expect(reader.push(stream.subarray(-188))).toHaveLength(1)
  })

  it('is found again after garbage in the middle of the stream', () => {
    const half = Math.floor(stream.length / 376) * 188
    const garbage = new Uint8Array(1000).fill(0x47, 3, 600)
    const reader = new KlvDemuxer()
    const units = feed(reader, glue(stream.subarray(0, half), garbage, stream.subarray(half)), 333)
    expect(units.length).toBeGreaterThanOrEqual(19)
    for (const hex of hexes(units)) expect(hexes(PACKETS)).toContain(hex)
  })

  it('does not change when the chunk is overwritten', () => {
    const chunk = stream.slice()
    const units = new KlvDemuxer().push(chunk)
    chunk.fill(0)
    expect(hexes(units)).toEqual(hexes(PACKETS))
  })
})

describe('a program map', () => {
  const tracksOf = (type: number, descriptors: readonly number[], pid?: number) => {
    const reader = new KlvDemuxer()
    reader.push(new TsMuxer().tables(type, descriptors, pid))
    return reader.tracks
  }

  it('is not absent before the map of every program has been read', () => {
    const reader = new KlvDemuxer()
    const entry = (program: number, pid: number): readonly number[] => [0, program, 0xe0 | (pid >> 8), pid & 0xff]
    const table = (pid: number, bytes: Uint8Array): Uint8Array => {
      const packet = new Uint8Array(188).fill(0xff)
      packet.set([0x47, 0x40 | (pid >> 8), pid & 0xff, 0x1f, 0, ...bytes])
      return packet
    }
    // Video alone: PCR_PID 0x100, no descriptors, one stream of type 0x1b.
    const map = (program: number): Uint8Array => section(0x02, program, [0xe1, 0, 0xf0, 0, 0x1b, 0xe1, 0, 0xf0, 0])
    expect(reader.hasKlv).toBeUndefined()
    reader.push(table(0, section(0x00, 1, [...entry(1, 0x20), ...entry(2, 0x21)])))
    reader.push(table(0x20, map(1)))
    expect(reader.hasKlv).toBeUndefined()
    reader.push(table(0x21, map(2)))
    expect(reader.hasKlv).toBe(false)
    reader.push(multiplex.asynchronous())
    expect(reader.hasKlv).toBe(true)
  })

  it('is unknown until it arrives', () => {
    expect(new KlvDemuxer().tracks).toBeNull()
    const reader = new KlvDemuxer()
    reader.push(new TsMuxer().video())
    expect(reader.tracks).toBeNull()
  })

  it.each([
    ['private data without a registration', 0x06, DESCRIPTORS.none],
    ['ID3 as in HLS', 0x15, DESCRIPTORS.id3],
    ['audio', 0x0f, DESCRIPTORS.asynchronous],
    ['a truncated descriptor', 0x06, DESCRIPTORS.asynchronous.slice(0, 5)],
  ] as const)('with %s announces no KLV', (_, type, descriptors) => {
    expect(tracksOf(type, descriptors)).toEqual([])
  })

  it.each([
    ['a synchronous stream that names no format', 0x15, DESCRIPTORS.none],
    ['a synchronous stream with only a registration', 0x15, DESCRIPTORS.asynchronous],
    ['a registration after another descriptor', 0x06, [0x0a, 4, 0x65, 0x6e, 0x67, 0, ...DESCRIPTORS.asynchronous]],
  ] as const)('with %s announces KLV', (_, type, descriptors) => {
    expect(tracksOf(type, descriptors)).toHaveLength(1)
  })

  it.each([0, 1, 15, 0x1fff])('with KLV on the reserved PID %d is ignored', (pid) => {
    expect(tracksOf(0x06, DESCRIPTORS.asynchronous, pid)).toEqual([])
  })

  it('with a wrong CRC is ignored', () => {
    const tables = new TsMuxer().tables(0x06, DESCRIPTORS.asynchronous)
    tables[tables.length - 1] = (tables[tables.length - 1] ?? 0) ^ 1
    const reader = new KlvDemuxer()
    reader.push(tables)
    expect(reader.tracks).toBeNull()
  })

  it('may move the stream to another PID', () => {
    const mux = new TsMuxer()
    const reader = new KlvDemuxer()
    feed(reader, mux.tables(0x06, DESCRIPTORS.asynchronous))
    feed(reader, mux.tables(0x15, DESCRIPTORS.synchronous, 0x55))
    expect(reader.tracks).toEqual([{ pid: 0x55, program: 1, synchronous: true }])
    expect(hexes(feed(reader, mux.synchronous(1, DYNAMIC_ONLY, 0x55)))).toEqual(hexes([DYNAMIC_ONLY]))
    expect(feed(reader, mux.asynchronous(1, DYNAMIC_ONLY))).toEqual([])
  })

  it('tells when it no longer announces the video that it announced first', () => {
    const H264 = { type: 0x1b, pid: 0x41 }
    const map = (program: number, ...streams: readonly { readonly type: number; readonly pid: number }[]): Uint8Array => {
      const entries = streams.flatMap(({ type, pid }) => [type, 0xe0 | (pid >> 8), pid & 0xff, 0xf0, 0])
      return section(0x02, program, [0xe0, 0x41, 0xf0, 0, ...entries])
    }
    const lostAfter = (...maps: readonly Uint8Array[]): boolean => {
      const mux = new TsMuxer()
      const reader = new KlvDemuxer()
      reader.push(mux.packets(0, Uint8Array.of(0, ...section(0x00, 1, [0, 1, 0xe0, 0x20]))))
      for (const one of maps) reader.push(mux.packets(0x20, Uint8Array.of(0, ...one)))
      return reader.videoLost
    }
    const audio = { type: 0x0f, pid: 0x42 }
    expect([
      lostAfter(map(1, audio), map(1, H264)),
      lostAfter(map(1, H264), map(1, audio, H264), map(1, H264)),
      lostAfter(map(1, H264), map(2, { type: 0x1b, pid: 0x51 }), map(1, H264)),
      lostAfter(map(1, H264), map(1, { type: 0x1b, pid: 0x51 })),
      lostAfter(map(1, H264), map(1, { type: 0x24, pid: 0x41 })),
      lostAfter(map(1, H264), map(1, audio)),
    ]).toEqual([false, false, false, true, true, true])
  })

  it('of another program that has video of its own brings no KLV, one without video does', () => {
    const tracksOf = (...programs: readonly (readonly [video: boolean, klvPid: number])[]) => {
      const mux = new TsMuxer()
      const reader = new KlvDemuxer()
      const pat = programs.flatMap((_, at) => [0, at + 1, 0xe0, 0x20 + at])
      reader.push(mux.packets(0, Uint8Array.of(0, ...section(0x00, 1, pat))))
      for (const [at, [video, klvPid]] of programs.entries()) {
        const klv = [0x06, 0xe0, klvPid, 0xf0, DESCRIPTORS.asynchronous.length, ...DESCRIPTORS.asynchronous]
        const entries = [...(video ? [0x1b, 0xe0, klvPid + 1, 0xf0, 0] : []), ...klv]
        reader.push(mux.packets(0x20 + at, Uint8Array.of(0, ...section(0x02, at + 1, [0xe0, 0x41, 0xf0, 0, ...entries]))))
      }
      return reader.tracks?.map(({ program }) => program)
    }
    expect([tracksOf([true, 0x50], [true, 0x60]), tracksOf([true, 0x50], [false, 0x60]), tracksOf([false, 0x50], [true, 0x60])]).toEqual([
      [1],
      [1, 2],
      [1, 2],
    ])
  })

  it('may share its PID with the map of another program', () => {
    const mux = new TsMuxer()
    const reader = new KlvDemuxer()
    const map = (program: number, streams: readonly number[]): Uint8Array =>
      mux.packets(0x20, Uint8Array.of(0, ...section(0x02, program, [0xe0, 0x41, 0xf0, 0, ...streams])))
    const withKlv = map(1, [0x06, 0xe0, KLV_PID, 0xf0, DESCRIPTORS.asynchronous.length, ...DESCRIPTORS.asynchronous])
    const unit = glue(...PACKETS)
    const klv = mux.asynchronous(1, unit)
    reader.push(mux.packets(0, Uint8Array.of(0, ...section(0x00, 1, [0, 1, 0xe0, 0x20, 0, 2, 0xe0, 0x20]))))
    reader.push(withKlv)
    reader.push(klv.subarray(0, 188))
    reader.push(map(2, [0x0f, 0xe0, 0x60, 0xf0, 0]))
    expect(reader.hasKlv).toBe(true)
    expect(hexes(reader.push(klv.subarray(188)))).toEqual(hexes([unit]))
    reader.push(map(1, [0x0f, 0xe0, 0x61, 0xf0, 0]))
    expect(reader.hasKlv).toBe(false)
  })

  it('may span two transport packets', () => {
    const mux = new TsMuxer()
    const reader = new KlvDemuxer()
    const filler = [0x80, 200, ...new Array<number>(200).fill(1)]
    feed(reader, mux.tables(0x06, DESCRIPTORS.asynchronous).subarray(0, 188))
    const streams = [0x06, 0xe0, KLV_PID, 0xf0, filler.length + 6, ...filler, ...DESCRIPTORS.asynchronous]
    feed(reader, new TsMuxer().packets(0x20, Uint8Array.of(0, ...section(0x02, 1, [0xe0, 0x41, 0xf0, 0, ...streams]))))
    expect(reader.tracks).toEqual([{ pid: KLV_PID, program: 1, synchronous: false }])
  })
})

describe('damage', () => {
  it('a lost transport packet costs only the KLV packet that it was part of', () => {
    const mux = new TsMuxer()
    const tables = mux.tables(0x06, DESCRIPTORS.asynchronous)
    const [first, second, third] = [
      mux.asynchronous(1, DYNAMIC_CONSTANT),
      mux.asynchronous(2, DYNAMIC_CONSTANT),
      mux.asynchronous(3, DYNAMIC_CONSTANT),
    ]
    expect(second).toHaveLength(2 * 188)
    const reader = new KlvDemuxer()
    const units = feed(reader, glue(tables, first, second.subarray(188), third))
    expect(units.map(({ pts }) => pts)).toEqual([1, 3])
    expect(reader.counters.damaged).toBe(1)
  })

  it('a repeated transport packet is read once', () => {
    const mux = new TsMuxer()
    const tables = mux.tables(0x06, DESCRIPTORS.asynchronous)
    const packet = mux.asynchronous(1, DYNAMIC_CONSTANT)
    const reader = new KlvDemuxer()
    expect(feed(reader, glue(tables, packet.subarray(0, 188), packet.subarray(0, 188), packet.subarray(188)))).toHaveLength(1)
  })

  it.each([
    ['a transport error', 1, 0x80],
    ['scrambling', 3, 0x80],
  ])('a packet with %s is dropped', (_, at, bit) => {
    const mux = new TsMuxer()
    const tables = mux.tables(0x06, DESCRIPTORS.asynchronous)
    const packet = mux.asynchronous(1, DYNAMIC_ONLY)
    packet[at] = (packet[at] ?? 0) | bit
    const reader = new KlvDemuxer()
    expect(feed(reader, glue(tables, packet))).toEqual([])
    expect(reader.counters.damaged).toBe(1)
    expect(feed(reader, mux.asynchronous(2, DYNAMIC_ONLY))).toHaveLength(1)
  })
})

describe('metadata access units', () => {
  const reader = () => {
    const mux = new TsMuxer()
    const ts = new KlvDemuxer()
    ts.push(mux.tables(0x15, DESCRIPTORS.synchronous))
    return (payload: Uint8Array) => feed(ts, mux.packets(KLV_PID, pes(0xfc, 90_000, payload)))
  }

  it('may share a PES packet', () => {
    expect(hexes(reader()(glue(cell(3, DYNAMIC_ONLY), cell(3, DYNAMIC_CONSTANT))))).toEqual(hexes([DYNAMIC_ONLY, DYNAMIC_CONSTANT]))
  })

  it('may span several PES packets', () => {
    const send = reader()
    expect(send(cell(2, DYNAMIC_CONSTANT.subarray(0, 100)))).toEqual([])
    expect(send(cell(0, DYNAMIC_CONSTANT.subarray(100, 200)))).toEqual([])
    expect(hexes(send(cell(1, DYNAMIC_CONSTANT.subarray(200))))).toEqual(hexes([DYNAMIC_CONSTANT]))
  })

  it('whose first cell is lost are dropped', () => {
    const send = reader()
    expect(send(cell(1, DYNAMIC_CONSTANT))).toEqual([])
    expect(send(cell(3, DYNAMIC_ONLY))).toHaveLength(1)
  })

  it('may lack the cell header', () => {
    expect(hexes(reader()(DYNAMIC_ONLY))).toEqual(hexes([DYNAMIC_ONLY]))
  })

  it('longer than their payload are dropped', () => {
    const send = reader()
    expect(send(cell(3, DYNAMIC_CONSTANT).subarray(0, 50))).toEqual([])
    expect(send(cell(3, DYNAMIC_ONLY))).toHaveLength(1)
  })

  it('that never end are limited in size', () => {
    const send = reader()
    send(cell(2, DYNAMIC_CONSTANT))
    for (let i = 0; i < 100; i++) expect(send(cell(0, new Uint8Array(5000)))).toEqual([])
    expect(send(cell(1, DYNAMIC_CONSTANT))).toEqual([])
    expect(send(cell(3, DYNAMIC_ONLY))).toHaveLength(1)
  })
})

describe('PES packets', () => {
  it('without a time stamp yield KLV without one', () => {
    const mux = new TsMuxer()
    const reader = new KlvDemuxer()
    reader.push(mux.tables(0x06, DESCRIPTORS.asynchronous))
    expect(feed(reader, mux.asynchronous(null, DYNAMIC_ONLY))).toMatchObject([{ pts: null }])
  })

  it('without a length end where the next begins', () => {
    const mux = new TsMuxer()
    const reader = new KlvDemuxer()
    reader.push(mux.tables(0x06, DESCRIPTORS.asynchronous))
    expect(feed(reader, mux.packets(KLV_PID, pes(0xbd, 5, DYNAMIC_CONSTANT, true)))).toEqual([])
    expect(hexes(feed(reader, mux.asynchronous(6, DYNAMIC_ONLY)))).toEqual(hexes([DYNAMIC_CONSTANT, DYNAMIC_ONLY]))
  })

  it('may carry several KLV packets, which the stream parser splits', () => {
    const mux = new TsMuxer()
    const reader = new KlvDemuxer()
    reader.push(mux.tables(0x06, DESCRIPTORS.asynchronous))
    const [unit] = feed(reader, mux.asynchronous(6, glue(DYNAMIC_ONLY, DYNAMIC_CONSTANT)))
    expect(new KlvStreamParser().push(unit?.bytes ?? new Uint8Array(0))).toHaveLength(2)
  })
})
