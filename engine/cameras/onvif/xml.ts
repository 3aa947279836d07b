/** An element of XML 1.0 (W3C REC-xml). Names are without their namespace prefix. */
export interface XmlElement {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlElement[]
  /** The text directly inside, without blanks at either end. */
  readonly text: string
}

/** A text is no XML, or more than a camera answers. */
export class XmlFault extends Error {}

const MAX_CHARACTERS = 256 * 1024
const MAX_DEPTH = 32
const MAX_ELEMENTS = 10_000

const START_TAG = /<([^\s<>/="']+)((?:\s+[^\s<>/="']+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/y
const ATTRIBUTE = /\s+([^\s<>/="']+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/gy

interface Open {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: XmlElement[]
  text: string
}

/**
 * The root element. Throws XmlFault for what is not well formed, has a document type (with entities of its own), is deeper than 32 elements
 * or has more than 10,000. Takes time in proportion to the text.
 */
export const parseXml = (xml: string): XmlElement => {
  if (xml.length > MAX_CHARACTERS) throw new XmlFault('too long')
  const root: Open = { name: '', attributes: new Map(), children: [], text: '' }
  const open: Open[] = [root]
  let count = 0
  let at = 0
  while (at < xml.length) {
    const parent = open.at(-1) ?? root
    const tag = xml.indexOf('<', at)
    parent.text += decodeText(xml.slice(at, tag === -1 ? undefined : tag))
    if (tag === -1) break
    const skipped = skipOf(xml, tag)
    if (skipped !== undefined) {
      parent.text += skipped.text
      at = skipped.end
    } else if (xml.startsWith('</', tag)) {
      at = endOf(xml, '>', tag)
      if (open.length === 1 || localName(xml.slice(tag + 2, at - 1).trim()) !== parent.name) throw new XmlFault('not well formed')
      open.pop()
      close(open.at(-1) ?? root, parent)
    } else {
      START_TAG.lastIndex = tag
      const [whole, name = '', attributes = '', empty] = START_TAG.exec(xml) ?? []
      if (whole === undefined) throw new XmlFault('not well formed')
      count += 1
      if (count > MAX_ELEMENTS || open.length > MAX_DEPTH) throw new XmlFault('too many elements')
      at = tag + whole.length
      const element: Open = { name: localName(name), attributes: attributesOf(attributes), children: [], text: '' }
      if (empty === '/') close(parent, element)
      else open.push(element)
    }
  }
  const [element, ...others] = root.children
  if (open.length > 1 || element === undefined || others.length > 0) throw new XmlFault('not well formed')
  return element
}

/** The first element at a path of names below another. */
export const find = (element: XmlElement, ...path: readonly string[]): XmlElement | undefined =>
  path.reduce<XmlElement | undefined>((found, name) => found?.children.find((child) => child.name === name), element)

/** The elements of a name right below another. */
export const all = (element: XmlElement | undefined, name: string): readonly XmlElement[] =>
  element?.children.filter((child) => child.name === name) ?? []

/** The text at a path, undefined where it is missing or empty. */
export const textAt = (element: XmlElement | undefined, ...path: readonly string[]): string | undefined =>
  (element === undefined ? undefined : find(element, ...path)?.text) || undefined

const close = (parent: Open, element: Open): void => {
  parent.children.push({ ...element, text: element.text.trim() })
}

/** What is no element: comments, CDATA, processing instructions. */
const skipOf = (xml: string, tag: number): { readonly text: string; readonly end: number } | undefined => {
  if (xml.startsWith('<!--', tag)) return { text: '', end: endOf(xml, '-->', tag + 4) }
  if (xml.startsWith('<?', tag)) return { text: '', end: endOf(xml, '?>', tag) }
  if (xml.startsWith('<![CDATA[', tag)) {
    const end = endOf(xml, ']]>', tag)
    return { text: xml.slice(tag + 9, end - 3), end }
  }
  if (xml.startsWith('<!', tag)) throw new XmlFault('has a document type')
  return undefined
}

const endOf = (xml: string, mark: string, from: number): number => {
  const at = xml.indexOf(mark, from)
  if (at === -1) throw new XmlFault('not well formed')
  return at + mark.length
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

const attributesOf = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(ATTRIBUTE)].map(([, name = '', double, single = '']) => [localName(name), decodeText(double ?? single)]))

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

const decodeText = (text: string): string =>
  text.includes('&') ? text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, decodeReference) : text

const decodeReference = (whole: string, decimal?: string, hexadecimal?: string, name?: string): string => {
  if (name !== undefined) return ENTITIES[name] ?? whole
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
}

/** A text as part of XML. */
export const escapeXml = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`)
