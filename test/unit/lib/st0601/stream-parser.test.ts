import { describe, expect, it } from 'vitest'
import { encodePacket } from '../../../../lib/st0601/encode.ts'
import { type KlvPacket, ST0601_KEY } from '../../../../lib/st0601/packet.ts'
import { KlvStreamParser } from '../../../../lib/st0601/stream-parser.ts'
import { toHex } from '../../../fixtures/klv/hex.ts'
import { flightItems, localSet, OTHER_KEYS } from '../../../fixtures/klv/local-set.ts'
import { seededRandom } from '../../../fixtures/klv/random.ts'
import { DYNAMIC_CONSTANT, DYNAMIC_CONSTANT_BAD_CHECKSUM, DYNAMIC_ONLY } from '../../../fixtures/klv/st0902-packets.ts'

const PACKETS = Array.from({ length: 40 }, (_, i) => encodePacket(flightItems(i)))
const [A, B, C] = PACKETS as [Uint8Array, Uint8Array, Uint8Array]
const hexes = (packets: readonly (KlvPacket | Uint8Array)[]): string[] =>
  packets.map((packet) => toHex('bytes' in packet ? packet.bytes : packet))

/** The packets that come out when the parts are fed in pieces of `size`, in hexadecimal. */
const feed = (stream: KlvStreamParser, parts: readonly Uint8Array[], size = Number.POSITIVE_INFINITY): string[] => {
  const bytes = Buffer.concat(parts)
  const packets: KlvPacket[] = []
  for (let at = 0; at < bytes.length; at += size) packets.push(...stream.push(bytes.subarray(at, at + size)))
  return hexes(packets)
}
const found = (parts: readonly Uint8Array[], size?: number) => {
  const stream = new KlvStreamParser()
  return { found: feed(stream, parts, size), counters: stream.counters, bufferedBytes: stream.bufferedBytes }
}

describe('packets in a stream', () => {
  it.each([1, 2, 7, 16, 17, 18, 69, 70, 71, 1000, 100_000])('are found when the stream is split every %d bytes', (size) => {
    const counters = { packets: 40, badChecksums: 0, malformed: 0, unknownSets: 0, skippedBytes: 0 }
    expect(found(PACKETS, size)).toEqual({ found: hexes(PACKETS), counters, bufferedBytes: 0 })
  })

  it('are returned with the chunk that completes them', () => {
    const stream = new KlvStreamParser()
    expect([stream.push(DYNAMIC_ONLY.subarray(0, 113)), stream.bufferedBytes]).toEqual([[], 113])
    expect(hexes(stream.push(DYNAMIC_ONLY.subarray(113)))).toEqual(hexes([DYNAMIC_ONLY]))
  })

  it('do not change when the chunk is overwritten', () => {
    const chunk = DYNAMIC_ONLY.slice()
    const packets = new KlvStreamParser().push(chunk)
    chunk.fill(0)
    expect(hexes(packets)).toEqual(hexes([DYNAMIC_ONLY]))
  })

  it.each([1, 5, 64, 4096])('are found between garbage, split every %d bytes', (size) => {
    const random = seededRandom(7)
    const garbage = () => Uint8Array.from({ length: 1 + random(300) }, () => [random(256), 0x06, 0x0e, 0x2b, 0x34][random(5)] ?? 0)
    const parts = [...PACKETS.flatMap((packet) => [garbage(), packet]), garbage()]
    expect(found(parts, size).found).toEqual(hexes(PACKETS))
  })

  it.each([
    [
      'other universal sets, which are skipped whole',
      OTHER_KEYS.map((key) => localSet('41 01 13', { key })),
      { unknownSets: 2, skippedBytes: 0 },
    ],
    ['one with a wrong checksum', [DYNAMIC_CONSTANT_BAD_CHECKSUM], { badChecksums: 1, skippedBytes: 228 }],
    ['one with malformed items', [localSet('8041 01 13')], { malformed: 1, badChecksums: 0 }],
  ])('are found after %s', (_what, others, counters) => {
    expect(found([DYNAMIC_ONLY, ...others, DYNAMIC_CONSTANT], 50)).toMatchObject({
      found: hexes([DYNAMIC_ONLY, DYNAMIC_CONSTANT]),
      counters: { packets: 2, ...counters },
    })
  })
})

describe('after a loss', () => {
  it.each([1, 30, 69])('a packet without its last %d bytes does not hide the next one', (missing) => {
    for (const size of [1, 70, 1000]) expect(found([A.subarray(0, -missing), B, C], size).found).toEqual(hexes([B, C]))
  })

  it.each([
    ['60 KiB', {}],
    ['60 KiB of another set', { key: OTHER_KEYS[0] }],
  ])('a wrong length of %s does not delay the packets after it', (_what, options) => {
    const stream = new KlvStreamParser()
    stream.push(localSet('41 01 13', { ...options, length: '82F000' }))
    expect(hexes(stream.push(A))).toEqual(hexes([A]))
    expect(feed(stream, PACKETS, 70)).toEqual(hexes(PACKETS))
  })

  it('reset drops an unfinished packet', () => {
    const stream = new KlvStreamParser()
    stream.push(DYNAMIC_CONSTANT.subarray(0, 100))
    stream.reset()
    expect(stream.bufferedBytes).toBe(0)
    expect(feed(stream, [DYNAMIC_CONSTANT.subarray(100), DYNAMIC_ONLY])).toEqual(hexes([DYNAMIC_ONLY]))
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
    expect(found([localSet('', { length: '84FFFFFFFF' }), DYNAMIC_ONLY]).found).toEqual(hexes([DYNAMIC_ONLY]))
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
    const sets = Array<Uint8Array>(200_000).fill(Uint8Array.of(...OTHER_KEYS[0], 0))
    expect(found([...sets, DYNAMIC_ONLY])).toMatchObject({
      found: hexes([DYNAMIC_ONLY]),
      counters: { packets: 1, unknownSets: 200_000, skippedBytes: 0 },
    })
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
    expect(feed(stream, [evil], 65536)).toEqual([])
    // A parser that checked every claim would count all 52,428 of them.
    expect(stream.counters.badChecksums).toBeLessThan(100)
    expect(stream.counters.skippedBytes + stream.bufferedBytes).toBe(evil.length)
    expect(feed(stream, [new Uint8Array(max), DYNAMIC_ONLY])).toEqual(hexes([DYNAMIC_ONLY]))
  })
})
