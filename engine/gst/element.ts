/** Words of a gst-launch description: elements, properties, caps, links. A word may hold blanks. */
export type LaunchTokens = readonly string[]

type PropertyValue = string | number | boolean | undefined

// GStreamer reads a string property twice: the description's lexer takes backslashes off (gst_parse_unescape), then
// gst_value_deserialize takes a leading quote or the word NULL for more than text; wrapped in quotes both are text again.
// A backslash at the end would take the blank behind it into the word: the lexer prefers the longest match to the escapes.
const NEEDS_WRAP = /^"|^NULL$|\\$/

const octal = (byte: number): string => `\\${byte.toString(8).padStart(3, '0')}`

const wrap = (text: string): string => {
  const inner = [...Buffer.from(text)].map((byte) => {
    const character = String.fromCharCode(byte)
    return /[A-Za-z0-9_./:+-]/.test(character) ? character : octal(byte)
  })
  return `"${inner.join('')}"`
}

/** `name=value` in the syntax of gst-launch, so that the element gets exactly this text whatever it holds. Line breaks and NUL cannot be said. */
export const property = (name: string, value: string | number | boolean): string => {
  const text = String(value)
  if (/[\0\r\n]/.test(text)) throw new TypeError(`The property ${name} holds a line break`)
  const literal = NEEDS_WRAP.test(text) ? wrap(text) : text
  return `${name}=${literal === '' ? '""' : literal.replace(/[\s\\"']/g, '\\$&')}`
}

/** One element with its properties; undefined ones are left out. */
export const element = (factory: string, properties: Readonly<Record<string, PropertyValue>> = {}): LaunchTokens => [
  factory,
  ...Object.entries(properties).flatMap(([name, value]) => (value === undefined ? [] : [property(name, value)])),
]

/** Elements joined by `!`; empty parts are passed over. */
export const chain = (...parts: readonly LaunchTokens[]): LaunchTokens =>
  parts.filter((part) => part.length > 0).flatMap((part, index) => (index === 0 ? part : ['!', ...part]))

/**
 * Words → argv. gst-launch joins its arguments with blanks again, after a backslash before each blank outside of
 * double quotes; cut at every blank no argument has one, and the description arrives byte for byte.
 */
export const toArguments = (words: LaunchTokens): readonly string[] => words.flatMap((word) => word.split(' '))

const NTSC_RATES: Readonly<Record<string, string>> = {
  '23.976': '24000/1001',
  '29.97': '30000/1001',
  '59.94': '60000/1001',
  '119.88': '120000/1001',
}

/** Frames per second as a fraction of caps; the usual decimals of NTSC mean their exact rates. */
export const frameRateFraction = (fps: number): string =>
  NTSC_RATES[String(fps)] ?? (Number.isInteger(fps) ? `${fps}/1` : `${Math.round(fps * 1000)}/1000`)
