import { describe, expect, it } from 'vitest'
import { KlvDemuxer, type KlvUnit } from '../../../../engine/mpegts/klv-demuxer.ts'
import { encodePacket } from '../../../../lib/st0601/encode.ts'
import { toHex } from '../../../fixtures/klv/hex.ts'
import { flightItems } from '../../../fixtures/klv/local-set.ts'
import { DYNAMIC_CONSTANT, DYNAMIC_ONLY } from '../../../fixtures/klv/st0902-packets.ts'
import { cell, DESCRIPTORS, KLV_PID, pes, section, TsMuxer } from '../../../fixtures/klv/ts-muxer.ts'

const PACKETS = Array.from({ length: 20 }, (_, i) => encodePacket(flightItems(i)))
/** Begins just before the 33-bit clock wraps. */
const ptsAt = (i: number): number => (2 ** 33 - 45_000 + i * 9000) % 2 ** 33

const KINDS: Readonly<Record<'asynchronous' | 'synchronous', readonly [type: number, descriptors: readonly number[]]>> = {
  asynchronous: [0x06, DESCRIPTORS.asynchronous],
  synchronous: [0x15, DESCRIPTORS.synchronous],
}

const hexes = (units: readonly (KlvUnit | Uint8Array)[]): string[] => units.map((unit) => toHex('bytes' in unit ? unit.bytes : unit))

/** A demuxer that has read the tables of a stream. */
const open = (type: number = 0x06, descriptors: readonly number[] = DESCRIPTORS.asynchronous, pid = KLV_PID) => {
  const [mux, reader] = [new TsMuxer(), new KlvDemuxer()]
  reader.push(mux.tables(type, descriptors, pid))
  return { mux, reader }
}

describe.each(['asynchronous', 'synchronous'] as const)('%s KLV', (kind) => {
  const mux = new TsMuxer()
  const stream = Buffer.concat([mux.tables(...KINDS[kind]), ...PACKETS.flatMap((klv, i) => [mux.video(), mux[kind](ptsAt(i), klv)])])
  const read = (bytes: Uint8Array, size = bytes.length) => {
    const reader = new KlvDemuxer()
    const units: KlvUnit[] = []
    for (let at = 0; at < bytes.length; at += size) units.push(...reader.push(bytes.subarray(at, at + size)))
    return { reader, units }
  }

  it.each([1, 187, 188, 189, 1316, 1_000_000])('is complete and has its time stamps when the stream is split every %d bytes', (size) => {
    const { reader, units } = read(stream, size)
    expect(hexes(units)).toEqual(hexes(PACKETS))
    expect(units.map(({ pts }) => pts)).toEqual(PACKETS.map((_, i) => ptsAt(i)))
    expect(reader.tracks).toEqual([{ pid: KLV_PID, program: 1, synchronous: kind === 'synchronous' }])
    expect(reader.counters).toEqual({ damaged: 0, skippedBytes: 0 })
  })

  it('is returned with the packet that completes it, not with the next one', () => {
    const { reader, units } = read(stream.subarray(0, -188))
    expect([units.length, reader.push(stream.subarray(-188)).length]).toEqual([19, 1])
  })

  it('is found again after garbage in the middle of the stream', () => {
    const half = Math.floor(stream.length / 376) * 188
    const garbage = new Uint8Array(1000).fill(0x47, 3, 600)
    const { units } = read(Buffer.concat([stream.subarray(0, half), garbage, stream.subarray(half)]), 333)
    expect(units.length).toBeGreaterThanOrEqual(19)
    expect(hexes(PACKETS)).toEqual(expect.arrayContaining(hexes(units)))
  })

  it('does not change when the chunk is overwritten', () => {
    const chunk = stream.slice()
    const { units } = read(chunk)
    chunk.fill(0)
    expect(hexes(units)).toEqual(hexes(PACKETS))
  })
})

describe('a program map', () => {
  type Stream = readonly [type: number, pid: number, descriptors?: readonly number[]]
  const VIDEO: Stream = [0x1b, 0x41]
  const AUDIO: Stream = [0x0f, 0x61]
  const KLV: Stream = [0x06, KLV_PID, DESCRIPTORS.asynchronous]
  const MAP_PID = 0x20

  const map = (program: number, ...streams: readonly Stream[]): Uint8Array => {
    const entries = streams.flatMap(([type, pid, descriptors = []]) => [type, 0xe0, pid, 0xf0, descriptors.length, ...descriptors])
    return section(0x02, program, [0xe0, 0x41, 0xf0, 0, ...entries])
  }
  /** A demuxer that has read the list of programs 1, 2 …, whose maps are on these PIDs. */
  const programs = (...pids: readonly number[]) => {
    const [mux, reader] = [new TsMuxer(), new KlvDemuxer()]
    const table = (pid: number, bytes: Uint8Array) => reader.push(mux.packets(pid, Uint8Array.of(0, ...bytes)))
    const entries = pids.flatMap((pid, at) => [0, at + 1, 0xe0, pid])
    table(0, section(0x00, 1, entries))
    return { mux, reader, table }
  }

  it('is not absent before the map of every program has been read', () => {
    const { reader, table } = programs(0x20, 0x21)
    const hasKlv = [new KlvDemuxer().hasKlv, reader.hasKlv]
    for (const pid of [0x20, 0x21]) {
      table(pid, map(pid - 0x1f, VIDEO))
      hasKlv.push(reader.hasKlv)
    }
    table(0x20, map(1, VIDEO, KLV))
    expect([...hasKlv, reader.hasKlv]).toEqual([undefined, undefined, undefined, false, true])
  })

  it('is unknown until it arrives', () => {
    const reader = new KlvDemuxer()
    reader.push(new TsMuxer().video())
    expect(reader.tracks).toBeNull()
  })

  it.each<[string, number, number, readonly number[], number?]>([
    ['private data without a registration: none', 0, 0x06, DESCRIPTORS.none],
    ['ID3 as in HLS: none', 0, 0x15, DESCRIPTORS.id3],
    ['audio: none', 0, 0x0f, DESCRIPTORS.asynchronous],
    ['a truncated descriptor: none', 0, 0x06, DESCRIPTORS.asynchronous.slice(0, 5)],
    ['a synchronous stream that names no format', 1, 0x15, DESCRIPTORS.none],
    ['a synchronous stream with only a registration', 1, 0x15, DESCRIPTORS.asynchronous],
    ['a registration after another descriptor', 1, 0x06, [0x0a, 4, 0x65, 0x6e, 0x67, 0, ...DESCRIPTORS.asynchronous]],
    ['the reserved PID 15: none', 0, 0x06, DESCRIPTORS.asynchronous, 15],
    ['the PID of null packets: none', 0, 0x06, DESCRIPTORS.asynchronous, 0x1fff],
  ])('announces KLV with %s', (_, tracks, type, descriptors, pid) => {
    expect(open(type, descriptors, pid).reader.tracks).toHaveLength(tracks)
  })

  it('with a wrong CRC is ignored', () => {
    const tables = new TsMuxer().tables(...KINDS.asynchronous)
    const reader = new KlvDemuxer()
    reader.push(tables.with(-1, (tables.at(-1) ?? 0) ^ 1))
    expect(reader.tracks).toBeNull()
  })

  it('may move the stream to another PID', () => {
    const { mux, reader } = open()
    reader.push(mux.tables(...KINDS.synchronous, 0x55))
    expect(reader.tracks).toEqual([{ pid: 0x55, program: 1, synchronous: true }])
    expect(hexes(reader.push(mux.synchronous(1, DYNAMIC_ONLY, 0x55)))).toEqual(hexes([DYNAMIC_ONLY]))
    expect(reader.push(mux.asynchronous(1, DYNAMIC_ONLY))).toEqual([])
  })

  it.each([
    ['is not lost when it comes late', false, [map(1, AUDIO), map(1, VIDEO)]],
    ['is not lost when audio comes and goes', false, [map(1, VIDEO), map(1, AUDIO, VIDEO), map(1, VIDEO)]],
    ['is not lost when another program has another', false, [map(1, VIDEO), map(2, [0x1b, 0x51]), map(1, VIDEO)]],
    ['is lost with its PID', true, [map(1, VIDEO), map(1, [0x1b, 0x51])]],
    ['is lost with its type', true, [map(1, VIDEO), map(1, [0x24, 0x41])]],
    ['is lost when only audio remains', true, [map(1, VIDEO), map(1, AUDIO)]],
  ])('tells whether the video that it announced first is lost: it %s', (_what, lost, maps) => {
    const { reader, table } = programs(MAP_PID)
    for (const one of maps) table(MAP_PID, one)
    expect(reader.videoLost).toBe(lost)
  })

  it.each([
    ['with video of its own brings no KLV', [VIDEO], [VIDEO], [1]],
    ['without video brings KLV', [VIDEO], [], [1, 2]],
    ['brings KLV to one without video', [], [VIDEO], [1, 2]],
  ])('of another program %s', (_what, first, second, expected) => {
    const { reader, table } = programs(0x20, 0x21)
    table(0x20, map(1, ...first, KLV))
    table(0x21, map(2, ...second, [0x06, 0x60, DESCRIPTORS.asynchronous]))
    expect(reader.tracks?.map(({ program }) => program)).toEqual(expected)
  })

  it('may share its PID with the map of another program', () => {
    const { mux, reader, table } = programs(MAP_PID, MAP_PID)
    const unit = Buffer.concat(PACKETS)
    const klv = mux.asynchronous(1, unit)
    table(MAP_PID, map(1, KLV))
    reader.push(klv.subarray(0, 188))
    table(MAP_PID, map(2, AUDIO))
    expect([reader.hasKlv, hexes(reader.push(klv.subarray(188)))]).toEqual([true, hexes([unit])])
    table(MAP_PID, map(1, AUDIO))
    expect(reader.hasKlv).toBe(false)
  })

  it('may span two transport packets', () => {
    const { reader, table } = programs(MAP_PID)
    table(MAP_PID, map(1, [0x06, KLV_PID, [0x80, 200, ...Array(200).fill(1), ...DESCRIPTORS.asynchronous]]))
    expect(reader.tracks).toEqual([{ pid: KLV_PID, program: 1, synchronous: false }])
  })
})

describe('damage', () => {
  it('a lost transport packet costs only the KLV packet that it was part of', () => {
    const { mux, reader } = open()
    const [first, second, third] = [1, 2, 3].map((pts) => mux.asynchronous(pts, DYNAMIC_CONSTANT)) as [Uint8Array, Uint8Array, Uint8Array]
    const units = reader.push(Buffer.concat([first, second.subarray(188), third]))
    expect([units.map(({ pts }) => pts), reader.counters.damaged]).toEqual([[1, 3], 1])
  })

  it('a repeated transport packet is read once', () => {
    const { mux, reader } = open()
    const packet = mux.asynchronous(1, DYNAMIC_CONSTANT)
    expect(hexes(reader.push(Buffer.concat([packet.subarray(0, 188), packet])))).toEqual(hexes([DYNAMIC_CONSTANT]))
  })

  it.each([
    ['a transport error', 1],
    ['scrambling', 3],
  ])('a packet with %s is dropped', (_, at) => {
    const { mux, reader } = open()
    const packet = mux.asynchronous(1, DYNAMIC_ONLY)
    packet[at] = (packet[at] ?? 0) | 0x80
    const units = [reader.push(packet), reader.push(mux.asynchronous(2, DYNAMIC_ONLY))]
    expect([units.map(({ length }) => length), reader.counters.damaged]).toEqual([[0, 1], 1])
  })
})

describe('metadata access units', () => {
  const [short, long] = [DYNAMIC_ONLY, DYNAMIC_CONSTANT]

  it.each<[string, readonly Uint8Array[], readonly (readonly Uint8Array[])[]]>([
    ['may share a PES packet', [Buffer.concat([cell(3, short), cell(3, long)])], [[short, long]]],
    [
      'may span several PES packets',
      [cell(2, long.subarray(0, 100)), cell(0, long.subarray(100, 200)), cell(1, long.subarray(200))],
      [[], [], [long]],
    ],
    ['whose first cell is lost are dropped', [cell(1, long), cell(3, short)], [[], [short]]],
    ['may lack the cell header', [short], [[short]]],
    ['longer than their payload are dropped', [cell(3, long).subarray(0, 50), cell(3, short)], [[], [short]]],
    [
      'that never end are limited in size',
      [cell(2, long), ...Array(100).fill(cell(0, new Uint8Array(5000))), cell(1, long), cell(3, short)],
      [[], ...Array(100).fill([]), [], [short]],
    ],
  ])('%s', (_what, payloads, expected) => {
    const { mux, reader } = open(...KINDS.synchronous)
    const units = payloads.map((payload) => reader.push(mux.packets(KLV_PID, pes(0xfc, 90_000, payload))))
    expect(units.map(hexes)).toEqual(expected.map(hexes))
  })
})

describe('PES packets', () => {
  it('without a time stamp yield KLV without one', () => {
    const { mux, reader } = open()
    expect(reader.push(mux.asynchronous(null, DYNAMIC_ONLY))).toMatchObject([{ pts: null }])
  })

  it('without a length end where the next begins', () => {
    const { mux, reader } = open()
    expect(reader.push(mux.packets(KLV_PID, pes(0xbd, 5, DYNAMIC_CONSTANT, true)))).toEqual([])
    expect(hexes(reader.push(mux.asynchronous(6, DYNAMIC_ONLY)))).toEqual(hexes([DYNAMIC_CONSTANT, DYNAMIC_ONLY]))
  })

  it('may carry several KLV packets', () => {
    const { mux, reader } = open()
    const both = Buffer.concat([DYNAMIC_ONLY, DYNAMIC_CONSTANT])
    expect(hexes(reader.push(mux.asynchronous(6, both)))).toEqual(hexes([both]))
  })
})
