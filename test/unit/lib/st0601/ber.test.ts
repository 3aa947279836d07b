import { describe, expect, it } from 'vitest'
import { berLength, berOid, readBerLength, readBerOid } from '../../../../lib/st0601/ber.ts'
import { fromHex, toHex } from '../../../fixtures/klv/hex.ts'

const view = (hex: string): DataView => new DataView(fromHex(hex).buffer)

describe('BER lengths', () => {
  it.each([
    ['00', 0],
    ['7F', 127],
    ['8180', 128],
    ['81FF', 255],
    ['820100', 256],
    ['83010000', 65536],
    ['84FFFFFFFF', 4294967295],
  ])('encodes and decodes %s as %d', (hex, value) => {
    expect(readBerLength(view(hex), 0, hex.length / 2)).toEqual({ value, next: hex.length / 2 })
    expect(toHex(Uint8Array.from(berLength(value)))).toBe(hex.toLowerCase())
  })

  it('decodes a long form that is longer than necessary', () => {
    expect(readBerLength(view('8400000005'), 0, 5)).toEqual({ value: 5, next: 5 })
  })

  it.each(['', '81', '8201', '84FFFFFF'])('reports "%s" as truncated', (hex) => {
    expect(readBerLength(view(hex), 0, hex.length / 2)).toBe('truncated')
  })

  it('does not read beyond the given end', () => {
    expect(readBerLength(view('820100'), 0, 2)).toBe('truncated')
  })

  it.each(['80', '850000000001', 'FF'])('reports %s as malformed', (hex) => {
    expect(readBerLength(view(hex), 0, hex.length / 2)).toBe('malformed')
  })
})

describe('BER-OID numbers', () => {
  it.each([
    ['00', 0],
    ['7F', 127],
    ['8100', 128],
    ['810F', 143],
    ['83D460', 60000],
    ['FFFFFF7F', 2 ** 28 - 1],
  ])('encodes and decodes %s as %d', (hex, value) => {
    expect(readBerOid(view(hex), 0, hex.length / 2)).toEqual({ value, next: hex.length / 2 })
    expect(toHex(Uint8Array.from(berOid(value)))).toBe(hex.toLowerCase())
  })

  it.each(['', '81', '8181', 'FFFFFF'])('reports "%s" as truncated', (hex) => {
    expect(readBerOid(view(hex), 0, hex.length / 2)).toBe('truncated')
  })

  it.each(['8001', 'FFFFFFFF7F'])('reports %s as malformed', (hex) => {
    expect(readBerOid(view(hex), 0, hex.length / 2)).toBe('malformed')
  })

  it.each([-1, 2 ** 28, 1.5])('cannot encode %d', (value) => {
    expect(() => berOid(value)).toThrow(RangeError)
  })
})
