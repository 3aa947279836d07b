import type { ElementName } from './elements.ts'

/** Tokens of a gst-launch description: elements, properties, caps, links. A token may contain blanks. */
export type LaunchTokens = readonly string[]

type PropertyValue = string | number | boolean | undefined

// GStreamer reads a string property twice: the lexer of descriptions removes backslashes (gst_parse_unescape), then
// gst_value_deserialize interprets a leading quote and the word NULL; in quotes both are plain text.
// A backslash at the end would join the next token: the lexer prefers the longest match to the escape. An argument that begins
// with a dash would make gst-launch keep the `--` before its description.
const NEEDS_WRAP = /^"|^NULL$|\\$| -/

const octal = (byte: number): string => `\\${byte.toString(8).padStart(3, '0')}`

const wrap = (text: string): string => {
  const inner = [...Buffer.from(text)].map((byte) => {
    const character = String.fromCharCode(byte)
    return /[A-Za-z0-9_./:+-]/.test(character) ? character : octal(byte)
  })
  return `"${inner.join('')}"`
}

/** `name=value` in the syntax of gst-launch, so that the element receives exactly this text. TypeError for line breaks and NUL, which the syntax cannot express. */
export const property = (name: string, value: string | number | boolean): string => {
  const text = String(value)
  if (/[\0\r\n]/.test(text)) throw new TypeError(`The property ${name} contains a line break or NUL`)
  const literal = NEEDS_WRAP.test(text) ? wrap(text) : text
  return `${name}=${literal === '' ? '""' : literal.replace(/[\s\\"']/g, '\\$&')}`
}

/** `Own`: names of elements that only the calling file has, beside those of elements.ts. */
export type MakeElement<Own extends string = never> = (
  factory: ElementName | Own,
  properties?: Readonly<Record<string, PropertyValue>>,
) => LaunchTokens

/** One element with its properties; undefined ones are left out. */
export const makeElement: MakeElement<string> = (factory, properties = {}) => [
  factory,
  ...Object.entries(properties).flatMap(([name, value]) => (value === undefined ? [] : [property(name, value)])),
]

export const element: MakeElement = makeElement

/** Elements linked by `!`; empty parts are skipped. */
export const chain = (...parts: readonly LaunchTokens[]): LaunchTokens =>
  parts.filter((part) => part.length > 0).flatMap((part, index) => (index === 0 ? part : ['!', ...part]))

/**
 * Tokens → argv. gst-launch joins its arguments with blanks, after it has put a backslash before each blank outside of double
 * quotes (`_gst_parse_escape`). Split at those blanks, the description arrives unchanged. Blanks inside of double quotes stay:
 * a word of its own that begins with a dash would be taken for an option.
 */
export const toArguments = (tokens: LaunchTokens): readonly string[] => tokens.flatMap(splitOutsideQuotes)

const splitOutsideQuotes = (token: string): readonly string[] => {
  const parts: string[] = []
  let start = 0
  let quoted = false
  for (let index = 0; index < token.length; index += 1) {
    const character = token[index]
    if (character === '"' && !(quoted && token[index - 1] === '\\')) quoted = !quoted
    if (character !== ' ' || quoted) continue
    parts.push(token.slice(start, index))
    start = index + 1
  }
  return [...parts, token.slice(start)]
}

const NTSC_RATES: Readonly<Record<string, string>> = {
  '23.976': '24000/1001',
  '29.97': '30000/1001',
  '59.94': '60000/1001',
  '119.88': '120000/1001',
}

/** Frames per second as a fraction for caps; the usual decimals of NTSC become their exact rates. */
export const frameRateFraction = (fps: number): string =>
  NTSC_RATES[String(fps)] ?? (Number.isInteger(fps) ? `${fps}/1` : `${Math.round(fps * 1000)}/1000`)
