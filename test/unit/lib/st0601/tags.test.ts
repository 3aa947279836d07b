import { describe, expect, it } from 'vitest'
import { encodeValue } from '../../../../lib/st0601/encode.ts'
import { findTag, TAGS, type Tag } from '../../../../lib/st0601/tags.ts'
import { decodeValue, type KlvValue } from '../../../../lib/st0601/value.ts'
import { fromHex, toHex } from '../../../fixtures/klv/hex.ts'
import { TAG_EXAMPLES } from '../../../fixtures/klv/tag-examples.ts'

const row = (tag: number): Tag => findTag(tag) ?? expect.fail(`no tag ${tag}`)
const decode = (tag: number, hex: string): KlvValue => decodeBytes(tag, fromHex(hex))
const decodeBytes = (tag: number, bytes: Uint8Array): KlvValue => decodeValue(new DataView(bytes.buffer), 0, bytes.length, row(tag))

describe('the tag table', () => {
  it('has every tag of ST 0601.19 once, in order', () => {
    expect(TAGS.map(({ tag }) => tag)).toEqual(Array.from({ length: 143 }, (_, i) => i + 1))
  })

  it('has a unique snake_case key per tag', () => {
    expect(new Set(TAGS.map(({ key }) => key)).size).toBe(TAGS.length)
    for (const { key } of TAGS) expect(key).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/)
    expect(row(15).key).toBe('sensor_true_altitude')
    expect(row(90).key).toBe('platform_pitch_angle_full')
    expect(row(45).key).toBe('target_error_estimate_ce90')
  })

  it('has no other tag', () => {
    expect([0, 144, 1000, -1].map(findTag)).toEqual([undefined, undefined, undefined, undefined])
  })
})

describe("the standard's examples", () => {
  it.each(TAG_EXAMPLES)('tag $tag: $hex decodes to $value', ({ tag, hex, value, tolerance }) => {
    expect(Math.abs(Number(decode(tag, hex)) - value)).toBeLessThanOrEqual(tolerance)
  })

  it.each(TAG_EXAMPLES.filter(({ tag, hex }) => row(tag).length === hex.length / 2))(
    'tag $tag: $hex is encoded from its decoded value',
    ({ tag, hex }) => {
      expect(toHex(encodeValue(tag, decode(tag, hex)))).toBe(hex.toLowerCase())
    },
  )
})

describe('numeric tags', () => {
  const numeric = TAGS.filter(({ type, length }) => ['mapped', 'mapped_signed', 'imapb'].includes(type) || (type === 'uint' && length < 8))
  it.each(numeric)('tag $tag, $name: both ends of its range round-trip', ({ tag, min, max, type, length }) => {
    const step =
      type === 'uint' ? 0 : type === 'imapb' ? 2 ** (Math.ceil(Math.log2(max - min)) - (8 * length - 1)) : (max - min) / 2 ** (8 * length)
    for (const value of [min, (min + max) / 2, max]) {
      const decoded = decodeBytes(tag, encodeValue(tag, type === 'uint' ? Math.round(value / row(tag).step) * row(tag).step : value))
      expect(Math.abs(Number(decoded) - value)).toBeLessThanOrEqual(step + (type === 'uint' ? row(tag).step : 1e-9))
    }
  })

  it.each(TAGS.filter(({ type }) => type === 'mapped_signed'))(
    'tag $tag, $name: the reserved integer is invalid, the next one is the minimum',
    ({ tag, length, min }) => {
      expect(decode(tag, `80${'00'.repeat(length - 1)}`)).toBeNull()
      expect(decode(tag, `80${'00'.repeat(length - 2)}01`)).toBeCloseTo(min, 9)
    },
  )

  it('decodes a temperature of -128 degrees, since tag 39 reserves no integer', () => {
    expect(decode(39, '80')).toBe(-128)
  })

  it('counts the track gate in steps of two pixels', () => {
    expect(decode(43, 'FF')).toBe(510)
    expect(toHex(encodeValue(43, 6))).toBe('03')
  })
})

describe('lengths', () => {
  it.each([
    [110, '07', 7],
    [110, '0107', 263],
    [110, '010007', 65543],
    [111, 'FFFFFFFF', 4294967295],
    [136, 'FF', -1],
    [136, 'FFFE', -2],
    [136, 'FFFFFD', -3],
    [137, '80000000000000', -(2 ** 55)],
    [131, '01', 1],
    [104, '2F92', 23456],
    [127, '1E', 30],
  ])('tag %d accepts the shorter form %s', (tag, hex, value) => {
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) expect(decode(tag, hex)).toBeNull()
    else expect(decode(tag, hex)).toBe(value)
  })

  it.each([
    [13, '5595B6'],
    [13, '5595B66D00'],
    [5, '71'],
    [2, '0459F4A6AA4AA8'],
    [110, '0000000001'],
    [109, '0000000001'],
    [127, '83D46087698769FFFF'],
  ])('tag %d rejects the length of %s', (tag, hex) => {
    expect(decode(tag, hex)).toBeNull()
  })

  it.each(TAGS)('tag $tag: an empty item has no value', ({ tag }) => {
    expect(decode(tag, '')).toBeNull()
  })

  it('rejects an integer beyond the precision of a double', () => {
    expect(decode(2, 'FFFFFFFFFFFFFFFF')).toBeNull()
    expect(decode(137, '7FFFFFFFFFFFFFFF')).toBeNull()
  })
})

describe('text', () => {
  it('decodes ASCII and UTF-8 and drops padding', () => {
    expect(decode(3, '4D495353494F4E203132')).toBe('MISSION 12')
    expect(decode(10, 'C3A9C3A8')).toBe('éè')
    expect(decode(10, '41420000')).toBe('AB')
  })

  it('replaces bytes that are not UTF-8', () => {
    expect(decode(10, '41FF42')).toBe('A\ufffdB')
  })

  it('does not decode text longer than any text of the standard', () => {
    expect(decode(3, '41'.repeat(1024))).toHaveLength(1024)
    expect(decode(3, '41'.repeat(1025))).toBeNull()
  })
})

describe('the encoder', () => {
  it('rejects values outside the range of a tag', () => {
    for (const [tag, value] of [
      [13, 90.1],
      [5, -1],
      [8, 256],
      [2, -1],
      [13, Number.NaN],
      [13, 'north'],
      [48, 1],
      [200, 1],
    ] as const)
      expect(() => encodeValue(tag, value)).toThrow(RangeError)
  })

  it('encodes an invalid value as the reserved integer, else as no bytes', () => {
    expect(toHex(encodeValue(13, null))).toBe('80000000')
    expect(toHex(encodeValue(5, null))).toBe('')
  })

  it('encodes a drop-frame rate as a ratio', () => {
    expect(toHex(encodeValue(127, 60000 / 1001))).toBe('83d4608769')
    expect(toHex(encodeValue(127, 30))).toBe('1e01')
  })
})
