import { describe, expect, it } from 'vitest'
import { encodePacket } from '../../../../lib/st0601/encode.ts'
import { decodePacket, itemBytes, tagValue } from '../../../../lib/st0601/packet.ts'
import { TAGS } from '../../../../lib/st0601/tags.ts'
import { fromHex, toHex } from '../../../fixtures/klv/hex.ts'
import { decoded, localSet, OTHER_KEYS, packetOf, resealed } from '../../../fixtures/klv/local-set.ts'
import { DYNAMIC_CONSTANT, DYNAMIC_CONSTANT_BAD_CHECKSUM, DYNAMIC_ONLY } from '../../../fixtures/klv/st0902-packets.ts'

describe('packets of other encoders', () => {
  it('decodes the 228-byte example of ST 0902', () => {
    const packet = decoded(DYNAMIC_CONSTANT)
    expect(packet.items.map(({ tag }) => tag)).toEqual([
      2, 3, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 48, 65, 94, 1,
    ])
    expect(packet.timestampUs).toBe(1_231_798_102_000_000)
    expect([3, 10, 11, 12, 65].map((tag) => tagValue(packet, tag))).toEqual(['Mission 12', 'Predator', 'EO Nose', 'Geodetic WGS84', 6])
    expect(tagValue(packet, 13)).toBeCloseTo(60.176822966978335, 12)
    expect(tagValue(packet, 14)).toBeCloseTo(128.42675904204452, 12)
    expect(tagValue(packet, 1)).toBe(0xaa43)
  })

  it('decodes the 114-byte example of ST 0902', () => {
    const packet = decoded(DYNAMIC_ONLY)
    expect([packet.items.length, tagValue(packet, 1)]).toEqual([19, 0xc850])
  })
})

describe('a packet', () => {
  it('keeps unknown tags, of one byte and of two, with their bytes', () => {
    const packet = decoded(localSet('8110 03 010203' + '8F7F 01 AA' + '41 01 13'))
    expect(packet.items.map(({ tag, value }) => [tag, value])).toEqual([
      [144, null],
      [2047, null],
      [65, 19],
      [1, tagValue(packet, 1)],
    ])
    expect(packet.items.slice(0, 2).map((item) => toHex(itemBytes(packet, item)))).toEqual(['010203', 'aa'])
  })

  it('keeps nested sets raw: security, VMTI, RVT', () => {
    const packet = decoded(localSet('30 03 010101' + '4A 02 0400' + '49 01 00'))
    expect(packet.items.slice(0, 3).map((item) => [item.tag, item.value, toHex(itemBytes(packet, item))])).toEqual([
      [48, null, '010101'],
      [74, null, '0400'],
      [73, null, '00'],
    ])
  })

  it('has no value for a reserved integer or an empty item', () => {
    const packet = decoded(localSet('0D 04 80000000' + '0E 04 5B5360C4' + '05 00' + '06 02 8000'))
    expect([13, 5, 6].map((tag) => tagValue(packet, tag))).toEqual([null, null, null])
    expect(tagValue(packet, 14)).toBeCloseTo(128.42675904204452, 12)
  })

  it('may have lengths in the long form', () => {
    const packet = decoded(localSet('0D 8104 5595B66D' + '05 820002 71C2'))
    expect(tagValue(packet, 13)).toBeCloseTo(60.176822966978335, 12)
    expect(tagValue(packet, 5)).toBeCloseTo(159.97436484321355, 12)
  })

  it('counts the last of two items with the same tag', () => {
    expect(tagValue(decoded(localSet('41 01 0A 41 01 0B')), 65)).toBe(11)
  })

  it('has no time stamp when tag 2 is absent or of a wrong length', () => {
    expect(decoded(localSet('41 01 13')).timestampUs).toBeNull()
    expect(decoded(localSet('02 04 00000001')).timestampUs).toBeNull()
  })

  it('is decoded inside a larger buffer', () => {
    const packet = decoded(Uint8Array.of(1, 2, 3, ...DYNAMIC_ONLY, ...DYNAMIC_CONSTANT).subarray(3))
    expect(packet.bytes).toEqual(DYNAMIC_ONLY)
    expect(packet.items).toEqual(decoded(DYNAMIC_ONLY).items)
  })
})

describe('an invalid packet', () => {
  it('is truncated wherever it is cut', () => {
    const results = Array.from({ length: DYNAMIC_ONLY.length }, (_, bytes) => decodePacket(DYNAMIC_ONLY.subarray(0, bytes)))
    expect(new Set(results)).toEqual(new Set(['truncated']))
  })

  it('is one with any byte after the length changed', () => {
    const results = Array.from(DYNAMIC_ONLY.subarray(17), (octet, at) => decodePacket(DYNAMIC_ONLY.with(17 + at, octet ^ 0x20)))
    expect(new Set(results)).toEqual(new Set(['bad_checksum']))
  })

  it('has a wrong checksum: the example of ST 0902', () => {
    expect(decodePacket(DYNAMIC_CONSTANT_BAD_CHECKSUM)).toBe('bad_checksum')
  })

  it.each(OTHER_KEYS)('is a set with another universal key', (key) => {
    expect(decodePacket(localSet('41 01 13', { key }))).toBe('not_st0601')
  })

  it.each([
    ['an item longer than the packet', '41 7F 13'],
    ['an item with the indefinite length', '41 80 13'],
    ['an item with a length of five octets', '41 85 0000000001 13'],
    ['a tag of five octets', 'FFFFFFFF7F 01 13'],
    ['a tag that begins with 0x80', '8041 01 13'],
    ['an item that includes the checksum', '41 06 13'],
    ['a tag without a length', '41'],
  ])('is one with %s', (_, items) => {
    expect(['malformed', 'bad_checksum']).toContain(decodePacket(localSet(items)))
  })

  it('is one with more than a thousand items', () => {
    expect(decoded(localSet('4100'.repeat(999))).items).toHaveLength(1000)
    expect(decodePacket(localSet('4100'.repeat(1000)))).toBe('malformed')
  })

  it('is one with the indefinite length', () => {
    expect(decodePacket(localSet('41 01 13', { length: '80' }))).toBe('malformed')
  })

  it('is one without a checksum item, even if its last bytes match the sum', () => {
    // A mission id takes the place of the checksum item: 03 02 ‹sum›.
    expect(decodePacket(resealed(localSet('41 01 13').with(-4, 3)))).toBe('bad_checksum')
  })

  it.each(['00', '01 00', '03 020000'])('is one too short for a checksum: length and content %s', (rest) => {
    expect(decodePacket(Uint8Array.of(...DYNAMIC_ONLY.subarray(0, 16), ...fromHex(rest)))).toBe('bad_checksum')
  })
})

describe('the encoder', () => {
  it('encodes the example of ST 0902 from its decoded values, byte for byte', () => {
    const packet = decoded(DYNAMIC_CONSTANT)
    const entries = packet.items.slice(0, -1).map((item) => [item.tag, item.value ?? itemBytes(packet, item)] as const)
    expect(toHex(encodePacket(entries))).toBe(toHex(DYNAMIC_CONSTANT))
  })

  it('encodes every tag so that the decoder accepts it', () => {
    const raw = Uint8Array.of(1, 2, 3)
    const entries = TAGS.filter(({ tag }) => tag !== 1).map(
      ({ tag, type, min, max }) =>
        [tag, type === 'set' || type === 'pack' ? raw : type === 'text' ? 'x' : Math.max(min, Math.min(max, 1))] as const,
    )
    const packet = decoded(encodePacket(entries))
    expect(packet.items.map(({ tag }) => tag)).toEqual([...entries.map(([tag]) => tag), 1])
    const withoutValue = packet.items.filter(({ value }) => value === null).map(({ tag }) => TAGS[tag - 1]?.type)
    expect(new Set(withoutValue)).toEqual(new Set(['set', 'pack']))
  })

  it('encodes unknown tags from raw bytes only', () => {
    expect(tagValue(packetOf({ 300: Uint8Array.of(1) }), 300)).toBeNull()
    expect(() => encodePacket([[300, 1]])).toThrow(RangeError)
  })
})
