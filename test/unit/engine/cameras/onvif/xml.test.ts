import { describe, expect, it } from 'vitest'
import { all, escapeXml, find, parseXml, textAt } from '../../../../../engine/cameras/onvif/xml.ts'

describe('XML', () => {
  it('has elements without their prefixes, attributes and texts', () => {
    const root = parseXml(
      `<?xml version="1.0"?><!-- <a> --><s:a xmlns:s="urn:x" t:token='1 > 0'><b> one &amp; &#x41;&#66; </b><b/><c><![CDATA[<d>]]> &no;</c></s:a>\n`,
    )
    expect([root.name, root.attributes.get('token'), all(root, 'b').map(({ text }) => text)]).toEqual(['a', '1 > 0', ['one & AB', '']])
    expect([textAt(root, 'c'), textAt(root, 'b', 'x'), find(root, 'd')]).toEqual(['<d> &no;', undefined, undefined])
    const text = `<&>"'\u{1f600}`
    expect(parseXml(`<a b="${escapeXml(text)}">${escapeXml(text)}</a>`)).toMatchObject({ text, attributes: new Map([['b', text]]) })
  })

  it.each([
    '',
    'text',
    '<a>',
    '<a></b>',
    '</a>',
    '<a/><b/>',
    '<a b></a>',
    '<a b="<"/>',
    '<a',
    '<!DOCTYPE a><a/>',
    '<a><!-- </a>',
    '<a><![CDATA[</a>',
    '<>x</>',
  ])('is not %j', (text) => {
    expect(() => parseXml(text)).toThrow('')
  })

  it.each([
    ['deep', '<a>'.repeat(40)],
    ['many elements', `<r>${'<a/>'.repeat(10_001)}</r>`],
    ['long', `<r>${'x'.repeat(300_000)}</r>`],
    ['blanks in a tag', `<r${' '.repeat(250_000)}x>`],
    ['attributes', `<r${' a="b"'.repeat(40_000)}`],
    ['quotes', `<r ${'a="'.repeat(80_000)}`],
    ['names', `<${'r'.repeat(250_000)}`],
    ['references', `<r>${'&#1'.repeat(80_000)}`],
    ['comments', `<r>${'<!--'.repeat(60_000)}`],
  ])('that is too much is refused in time: %s', (_what, text) => {
    const begun = performance.now()
    expect(() => parseXml(text)).toThrow('')
    expect(performance.now() - begun).toBeLessThan(1000)
  })
})
