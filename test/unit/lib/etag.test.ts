import { describe, expect, it } from 'vitest'
import { etagOf, namesEtag, requireMatch } from '../../../lib/etag.ts'

describe('an ETag', () => {
  it('is the same for the same fields in another order, and another one for another value', async () => {
    const tag = await etagOf({ a: 1, b: { c: [1, 2], d: null } })
    expect(tag).toMatch(/^"[0-9a-f]{32}"$/)
    expect(await etagOf({ b: { d: null, c: [1, 2] }, a: 1 })).toBe(tag)
    expect(await etagOf({ a: 1, b: { c: [2, 1], d: null } })).not.toBe(tag)
    expect(await etagOf({ a: 1, b: { c: [1, 2] } })).not.toBe(tag)
  })
})

describe('a precondition', () => {
  it.each([
    ['*', '"a"', true, true],
    [' * ', '"a"', true, true],
    ['"a"', '"a"', true, true],
    ['"b"', '"a"', false, false],
    ['"b", "a"', '"a"', true, true],
    ['"b","a"', '"a"', true, true],
    ['"b,a"', '"a"', false, false],
    ['"x,y", "z"', '"x,y"', true, true],
    // A weak tag is no tag for If-Match (RFC 9110 section 8.8.3.2).
    ['W/"a"', '"a"', false, true],
    ['"a"', 'W/"a"', false, true],
    ['W/"a"', 'W/"a"', false, true],
    ['a', '"a"', false, false],
    ['"a', '"a"', false, false],
    ['', '"a"', false, false],
    ['"A"', '"a"', false, false],
  ])('%s for %s: strong %s, weak %s', (header, tag, strong, weak) => {
    expect([namesEtag(header, tag, { strong: true }), namesEtag(header, tag, { strong: false })]).toEqual([strong, weak])
  })

  it('that does not hold is PRECONDITION_FAILED, and no precondition always holds', () => {
    requireMatch(null, '"a"', 'pipeline')
    requireMatch('"a"', '"a"', 'pipeline')
    expect(() => requireMatch('"b"', '"a"', 'pipeline')).toThrow(expect.objectContaining({ code: 'PRECONDITION_FAILED', status: 412 }))
  })

  it('takes linear time for a hostile header', () => {
    for (const part of ['"', 'W/', '"a', ', ', 'W/"a",']) expect(namesEtag(part.repeat(100_000), '"b"', { strong: true })).toBe(false)
  })
})
