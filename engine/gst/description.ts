/**
 * A token of a gst-launch description, as GStreamer's lexer splits it (gst/parse/parse.l, 1.22): at each position the longest
 * match of the patterns below wins, and the first of equally long ones.
 */
export type Token =
  | { readonly kind: 'element'; readonly text: string }
  | AssignmentToken
  | { readonly kind: 'url'; readonly text: string; readonly url: string }
  | { readonly kind: 'caps' | 'reference' | 'operator' | 'space' | 'other'; readonly text: string }

interface AssignmentToken {
  readonly kind: 'assignment'
  readonly text: string
  readonly name: string
  /** The value that a string property receives. */
  readonly value: string
}

const SPACE = /\s+/y
const IDENTIFIER = /[A-Za-z0-9_][A-Za-z0-9_%:-]*/y
const ASSIGN = /[A-Za-z0-9_][A-Za-z0-9_%:-]*\s*=\s*/y
const REFERENCE = /(?:[A-Za-z0-9_][A-Za-z0-9_%:-]*)?\.(?:[A-Za-z0-9_][A-Za-z0-9_%:-]*)?/y
const SCHEME_CHARACTER = /[A-Za-z0-9+,.-]/
// The lexer prefers the longest match, so a backslash joins the next blank even when the backslash itself is escaped.
const CHARACTERS = /(?:\S|(?<=\\)[^\n])+/y
const MIME = /[!:]\s*[A-Za-z0-9-]+\/[A-Za-z0-9-]+/y

const matchAt = (pattern: RegExp, text: string, at: number): string => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

interface QuoteEnds {
  readonly next: Int32Array
  readonly last: number
}

/** What ends from each position on; found in one pass each, so that a hostile description takes linear time. */
interface Ends {
  readonly quotes: ReadonlyMap<string, QuoteEnds>
  /** Where the characters of a scheme end. */
  readonly schemes: Int32Array
  /** The next `!` without a backslash before it, -1 without one. */
  readonly caps: Int32Array
}

const endsOf = (text: string): Ends => {
  const schemes = new Int32Array(text.length + 1).fill(text.length)
  const caps = new Int32Array(text.length + 2).fill(-1)
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text[at] ?? ''
    schemes[at] = SCHEME_CHARACTER.test(character) ? (schemes[at + 1] ?? 0) : at
    caps[at] = character === '!' ? at : (caps[at + (character === '\\' ? 2 : 1)] ?? -1)
  }
  return { quotes: new Map(['"', "'"].map((quote) => [quote, quoteEnds(text, quote)])), schemes, caps }
}

/** For each position, the next quote without a backslash before it. */
const quoteEnds = (text: string, quote: string): QuoteEnds => {
  const next = new Int32Array(text.length + 1).fill(-1)
  for (let at = text.length - 1; at >= 0; at--) next[at] = text[at] === quote && text[at - 1] !== '\\' ? at : (next[at + 1] ?? -1)
  return { next, last: text.lastIndexOf(quote) }
}

/** Length of the string at this position: a quoted text or everything up to a blank, the longer of the two. */
const stringLength = (text: string, at: number, { quotes }: Ends): number => {
  const plain = matchAt(CHARACTERS, text, at).length
  const ends = quotes.get(text[at] ?? '')
  if (ends === undefined) return plain
  const end = ends.next[at + 1] ?? -1
  const close = end > at ? end : ends.last
  return Math.max(plain, close > at ? close - at + 1 : 0)
}

/** What the parser of descriptions makes of a value: without delimiting quotes and without the backslashes outside of double quotes. */
export const unescapeValue = (raw: string): string => {
  const quote = raw[0]
  const delimited = raw.length >= 2 && (quote === '"' || quote === "'") && raw.endsWith(quote)
  const inner = delimited ? raw.slice(1, -1) : raw
  let text = ''
  let quoted = false
  for (let at = 0; at < inner.length; at++) {
    if (inner[at] === '\\' && !quoted) {
      at += 1
    } else if (inner[at] === '"' && (!quoted || inner[at - 1] !== '\\')) quoted = !quoted
    text += inner[at] ?? ''
  }
  return text
}

/**
 * What gst_value_deserialize makes of the text of a string property (gst/gstvalue.c, gst_string_unwrap): text in double quotes is
 * unwrapped, and \ooo is an octal byte. Text that it rejects stays as it is.
 */
const deserializeString = (text: string): string => {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return text
  const source = Buffer.from(text.slice(1, -1))
  const bytes: number[] = []
  for (let at = 0; at < source.length; at++) {
    const [byte = 0, next = 0] = [source[at], source[at + 1]]
    if (byte === QUOTE) return text
    if (byte !== BACKSLASH) bytes.push(byte)
    else if (next >= 0x30 && next <= 0x33) {
      const digits = source.toString('latin1', at + 1, at + 4)
      if (!/^[0-3][0-7]{2}$/.test(digits)) return text
      bytes.push(Number.parseInt(digits, 8))
      at += 3
    } else if (at + 1 === source.length) return text
    else {
      bytes.push(next)
      at += 1
    }
  }
  return Buffer.from(bytes).toString('utf8')
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Splits a description into tokens; their joined texts are the description. Never throws: text that matches no pattern is `other`. */
export const tokenize = (description: string): readonly Token[] => {
  const ends = endsOf(description)
  const tokens: Token[] = []
  let at = 0
  while (at < description.length) {
    const token = tokenAt(description, at, ends)
    tokens.push(token)
    at += token.text.length
  }
  return tokens
}

const tokenAt = (text: string, at: number, ends: Ends): Token => {
  const space = matchAt(SPACE, text, at)
  if (space !== '') return { kind: 'space', text: space }
  const candidates = [
    assignmentAt(text, at, ends),
    referenceAt(text, at),
    identifierAt(text, at),
    capsAt(text, at, ends),
    urlAt(text, at, ends),
  ]
  let best: Token = { kind: '(){}.!:,;='.includes(text[at] ?? '') ? 'operator' : 'other', text: text[at] ?? '' }
  let length = 0
  for (const candidate of candidates) {
    if (candidate === undefined || candidate.text.length <= length) continue
    best = candidate
    length = candidate.text.length
  }
  return best
}

const assignmentAt = (text: string, at: number, ends: Ends): Token | undefined => {
  const head = matchAt(ASSIGN, text, at)
  if (head === '') return undefined
  const length = stringLength(text, at + head.length, ends)
  if (length === 0) return undefined
  const raw = text.slice(at + head.length, at + head.length + length)
  return { kind: 'assignment', text: head + raw, name: head.split('=')[0]?.trim() ?? '', value: deserializeString(unescapeValue(raw)) }
}

const referenceAt = (text: string, at: number): Token | undefined => {
  const reference = matchAt(REFERENCE, text, at)
  return reference.length > 1 ? { kind: 'reference', text: reference } : undefined
}

const identifierAt = (text: string, at: number): Token | undefined => {
  const identifier = matchAt(IDENTIFIER, text, at)
  return identifier === '' ? undefined : { kind: 'element', text: identifier }
}

/** `! caps !`: the caps between two links are one token, up to the second link. */
const capsAt = (text: string, at: number, { caps }: Ends): Token | undefined => {
  const head = matchAt(MIME, text, at)
  const end = head === '' ? -1 : (caps[at + head.length] ?? -1)
  return end === -1 ? undefined : { kind: 'caps', text: text.slice(at, end) }
}

const urlAt = (text: string, at: number, ends: Ends): Token | undefined => {
  const schemeEnd = ends.schemes[at] ?? at
  const protocol = /[A-Za-z]/.test(text[at] ?? '') && text.startsWith('://', schemeEnd) ? text.slice(at, schemeEnd + 3) : ''
  const path = protocol === '' ? matchAt(/\.?\//y, text, at) : ''
  const head = protocol || path
  if (head === '') return undefined
  const raw = text.slice(at, at + head.length + stringLength(text, at + head.length, ends))
  return { kind: 'url', text: raw, url: unescapeValue(raw) }
}

/** The description with one blank between its tokens: gst-launch gets each further one as an argument, and bubblewrap takes 9000. */
export const singleSpaced = (description: string): string =>
  tokenize(description)
    // A line break stays one: after a backslash a blank would be part of the value.
    .map(({ kind, text }) => (kind === 'space' ? text[0] : text))
    .join('')

/** The payloaders (`pay0`, `pay1`) in a description: what gst-rtsp-server would publish. */
export const namedPayloaders = (description: string): readonly ('pay0' | 'pay1')[] => {
  const names = new Set(
    tokenize(description).flatMap((token) => (token.kind === 'assignment' && token.name === 'name' ? [token.value] : [])),
  )
  return (['pay0', 'pay1'] as const).filter((payloader) => names.has(payloader))
}
