import { describe, expect, it } from 'vitest'
import { encodePacket } from '../../../../../engine/klv/st0601/encode.ts'
import { type KlvPacket, ST0601_KEY } from '../../../../../engine/klv/st0601/packet.ts'
import { KlvStreamParser } from '../../../../../engine/klv/st0601/stream-parser.ts'
import { toHex } from '../../../../fixtures/klv/hex.ts'
import { flightItems, localSet, OTHER_KEYS } from '../../../../fixtures/klv/local-set.ts'
import { seededRandom } from '../../../../fixtures/klv/random.ts'
import { DYNAMIC_CONSTANT, DYNAMIC_CONSTANT_BAD_CHECKSUM, DYNAMIC_ONLY } from '../../../../fixtures/klv/st0902-packets.ts'

const PACKETS = Array.from({ length: 40 }, (_, i) => encodePacket(flightItems(i)))
const glue = (...parts: readonly Uint8Array[]): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part]))
const hexes = (packets: readonly (KlvPacket | Uint8Array)[]): string[] =>
  packets.map((packet) => toHex('bytes' in packet ? packet.bytes : packet))

/** Feeds `bytes` in pieces of `size` and returns the packets that come out. */
const feed = (stream: KlvStreamParser, bytes: Uint8Array, size = bytes.length): KlvPacket[] => {
  const packets: KlvPacket[] = []
  for (let at = 0; at < bytes.length; at += size) packets.push(...stream.push(bytes.subarray(at, at + size)))
  return packets
}

describe('packets in a stream', () => {
  it.each([1, 2, 7, 16, 17, 18, 69, 70, 71, 1000, 100_000])('are found when the stream is split every %d bytes', (size) => {
    const stream = new KlvStreamParser()
    expect(hexes(feed(stream, glue(...PACKETS), size))).toEqual(hexes(PACKETS))
    expect(stream.counters).toEqual({ packets: 40, badChecksums: 0, malformed: 0, unknownSets: 0, skippedBytes: 0 })
    expect(stream.bufferedBytes).toBe(0)
  })

  it('are returned with the chunk that completes them', () => {
    const stream = new KlvStreamParser()
    expect(stream.push(DYNAMIC_ONLY.subarray(0, 113))).toEqual([])
    expect(stream.bufferedBytes).toBe(113)
    expect(hexes(stream.push(DYNAMIC_ONLY.subarray(113)))).toEqual(hexes([DYNAMIC_ONLY]))
  })

  it('do not change when the chunk is overwritten', () => {
    const chunk = DYNAMIC_ONLY.slice()
    const [packet] = new KlvStreamParser().push(chunk)
    chunk.fill(0)
    expect(hexes(packet === undefined ? [] : [packet])).toEqual(hexes([DYNAMIC_ONLY]))
  })

  it.each([1, 5, 64, 4096])('are found between garbage, split every %d bytes', (size) => {
    const random = seededRandom(7)
    const garbage = () => Uint8Array.from({ length: 1 + random(300) }, () => [random(256), 0x06, 0x0e, 0x2b, 0x34][random(5)] ?? 0)
    const stream = new KlvStreamParser()
    const bytes = glue(...PACKETS.flatMap((packet) => [garbage(), packet]), garbage())
    expect(hexes(feed(stream, bytes, size))).toEqual(hexes(PACKETS))
  })

  it('are found after other universal sets, which are skipped whole', () => {
    const others = OTHER_KEYS.map((key) => localSet('41 01 13', { key }))
    const stream = new KlvStreamParser()
    expect(hexes(feed(stream, glue(others[0] ?? ST0601_KEY, DYNAMIC_ONLY, others[1] ?? ST0601_KEY, DYNAMIC_CONSTANT), 50))).toEqual(
      hexes([DYNAMIC_ONLY, DYNAMIC_CONSTANT]),
    )
    expect(stream.counters).toMatchObject({ packets: 2, unknownSets: 2, skippedBytes: 0 })
  })

  it('are counted and dropped when their checksum is wrong', () => {
    const stream = new KlvStreamParser()
    expect(hexes(feed(stream, glue(DYNAMIC_ONLY, DYNAMIC_CONSTANT_BAD_CHECKSUM, DYNAMIC_CONSTANT)))).toEqual(
      hexes([DYNAMIC_ONLY, DYNAMIC_CONSTANT]),
    )
    expect(stream.counters).toMatchObject({ packets: 2, badChecksums: 1, skippedBytes: 228 })
  })

  it('are counted and dropped when their items are malformed', () => {
    const stream = new KlvStreamParser()
    expect(hexes(feed(stream, glue(localSet('8041 01 13'), DYNAMIC_ONLY)))).toEqual(hexes([DYNAMIC_ONLY]))
    expect(stream.counters).toMatchObject({ packets: 1, malformed: 1, badChecksums: 0 })
  })
})

describe('after a loss', () => {
  it.each([1, 30, 69])('a packet without its last %d bytes does not hide the next one', (missing) => {
    const [a, b, c] = PACKETS
    if (a === undefined || b === undefined || c === undefined) return expect.fail('three packets')
    for (const size of [1, 70, 1000]) {
      const stream = new KlvStreamParser()
      expect(hexes(feed(stream, glue(a.subarray(0, -missing), b, c), size))).toEqual(hexes([b, c]))
    }
  })

  it('a wrong length of 60 KiB does not delay the packets after it', () => {
    const wrong = localSet('41 01 13', { length: '82F000' })
    const stream = new KlvStreamParser()
    const [first] = PACKETS
    if (first === undefined) return expect.fail('a packet')
    stream.push(wrong)
    expect(hexes(stream.push(first))).toEqual(hexes([first]))
    expect(hexes(feed(stream, glue(...PACKETS), 70))).toEqual(hexes(PACKETS))
  })

  it('a wrong length of another set does not delay the packets after it', () => {
    const stream = new KlvStreamParser()
    const other = localSet('41 01 13', { key: OTHER_KEYS[0], length: '82F000' })
    expect(hexes(feed(stream, glue(other, ...PACKETS), 70))).toEqual(hexes(PACKETS))
  })

  it('reset drops an unfinished packet', () => {
    const stream = new KlvStreamParser()
    stream.push(DYNAMIC_CONSTANT.subarray(0, 100))
    stream.reset()
    expect(stream.bufferedBytes).toBe(0)
    expect(stream.push(DYNAMIC_CONSTANT.subarray(100))).toEqual([])
    expect(hexes(stream.push(DYNAMIC_ONLY))).toEqual(hexes([DYNAMIC_ONLY]))
  })
})

describe('limits', () => {
  it('a packet longer than the maximum is skipped at once', () => {
    const stream = new KlvStreamParser({ maxPacketBytes: 113 })
    expect(stream.push(DYNAMIC_ONLY)).toEqual([])
    expect(stream.bufferedBytes).toBeLessThan(16)
    expect(new KlvStreamParser({ maxPacketBytes: 114 }).push(DYNAMIC_ONLY)).toHaveLength(1)
  })

  it('a length of 4 GiB is skipped at once', () => {
    const stream = new KlvStreamParser()
    expect(hexes(stream.push(glue(localSet('', { length: '84FFFFFFFF' }), DYNAMIC_ONLY)))).toEqual(hexes([DYNAMIC_ONLY]))
  })

  it('the parser never buffers more than one packet', () => {
    const max = 4096
    const stream = new KlvStreamParser({ maxPacketBytes: max })
    const endless = localSet('', { length: '820FE0' }).subarray(0, -4)
    for (let i = 0; i < 200; i++) {
      stream.push(endless)
      stream.push(new Uint8Array(1 + (i % 500)))
      expect(stream.bufferedBytes).toBeLessThanOrEqual(max)
    }
  })

  it('millions of bytes of short sets of another kind are skipped in linear time', () => {
    // A search that went beyond each set would need minutes; the test's own timeout judges.
    const set = Uint8Array.of(...(OTHER_KEYS[0] ?? ST0601_KEY), 0)
    const sets = new Uint8Array(200_000 * set.length)
    for (let at = 0; at < sets.length; at += set.length) sets.set(set, at)
    const stream = new KlvStreamParser()
    expect(hexes(feed(stream, glue(sets, DYNAMIC_ONLY)))).toEqual(hexes([DYNAMIC_ONLY]))
    expect(stream.counters).toMatchObject({ packets: 1, unknownSets: 200_000, skippedBytes: 0 })
  })

  it('a megabyte of keys that all claim the rest of the stream is parsed in linear time', () => {
    // Each key announces a packet up to the end: checking all of them would take quadratic time.
    const max = 256 * 1024
    const stream = new KlvStreamParser({ maxPacketBytes: max })
    const evil = new Uint8Array(4 * max)
    for (let at = 0; at + 20 <= evil.length; at += 20) {
      evil.set(ST0601_KEY, at)
      const rest = Math.max(4, Math.min(max - 20, (Math.floor(at / max) + 1) * max - at - 20))
      evil.set([0x83, rest >> 16, (rest >> 8) & 0xff, rest & 0xff], at + 16)
    }
    expect(feed(stream, evil, 65536)).toEqual([])
    // A parser that checked every claim would count all 52,428 of them.
    expect(stream.counters.badChecksums).toBeLessThan(100)
    expect(stream.counters.skippedBytes + stream.bufferedBytes).toBe(evil.length)
    expect(hexes(feed(stream, glue(new Uint8Array(max), DYNAMIC_ONLY)))).toEqual(hexes([DYNAMIC_ONLY]))
  })
})
