import { describe, expect, it } from 'vitest'
import { decodeImapb, encodeImapb } from '../../../../lib/st0601/imapb.ts'
import { fromHex, toHex } from '../../../fixtures/klv/hex.ts'

const decode = (hex: string, min: number, max: number): number | null =>
  decodeImapb(new DataView(fromHex(hex).buffer), 0, hex.length / 2, min, max)

describe('IMAPB (MISB ST 1201)', () => {
  it.each([
    ['0000', 0, 360, 0],
    ['1F40', 0, 360, 125],
    ['2F921E', -900, 40000, 23456.234375],
    ['3E9000', -1000, 1000, 1],
    ['3E8000', -1000, 1000, 0], // zero inside the range is exact
    ['80', 0, 128, 128], // 0x80 and zeros is the maximum of a range that is a power of two
  ])('decodes %s over %d…%d to %d', (hex, min, max, value) => {
    expect(decode(hex, min, max)).toBe(value)
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('round-trips values within one step in %d bytes', (length) => {
    const step = 2 ** (Math.ceil(Math.log2(40900)) - (8 * length - 1))
    for (const value of [-900, -0.5, 0, 123.456, 39999.9, 40000]) {
      const bytes = encodeImapb(value, length, -900, 40000)
      const decoded = decodeImapb(new DataView(bytes.buffer), 0, length, -900, 40000)
      expect(Math.abs((decoded ?? Number.NaN) - value)).toBeLessThanOrEqual(step + 1e-9)
    }
  })

  it.each([
    ['C80000', 'positive infinity'],
    ['E80000', 'negative infinity'],
    ['D00000', 'positive quiet NaN'],
    ['F00000', 'negative quiet NaN'],
    ['D80000', 'positive signaling NaN'],
    ['F80000', 'negative signaling NaN'],
    ['E00000', 'below minimum'],
    ['E10000', 'above maximum'],
    ['C00000', 'user-defined'],
    ['800001', 'reserved'],
    ['900000', 'reserved'],
  ])('decodes %s (%s) to no number', (hex) => {
    expect(decode(hex, -900, 40000)).toBeNull()
  })

  it('decodes a mapped integer beyond the range to no number', () => {
    expect(decode('7FFF', 0, 360)).toBeNull()
    // Two steps of 2^-6 beyond it; one is the rounding of the encoder.
    expect([decode('5A01', 0, 360), decode('5A02', 0, 360)]).toEqual([360, null])
  })

  it('encodes values outside the range, and null, as special values', () => {
    expect(toHex(encodeImapb(-901, 3, -900, 40000))).toBe('e00000')
    expect(toHex(encodeImapb(40001, 3, -900, 40000))).toBe('e10000')
    expect(toHex(encodeImapb(null, 3, -900, 40000))).toBe('d00000')
  })

  it('rejects lengths that the standard does not define', () => {
    expect(decodeImapb(new DataView(new ArrayBuffer(9)), 0, 9, 0, 1)).toBeNull()
    expect(decodeImapb(new DataView(new ArrayBuffer(9)), 0, 0, 0, 1)).toBeNull()
    expect(() => encodeImapb(0, 9, 0, 1)).toThrow(RangeError)
  })
})
