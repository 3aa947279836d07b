/** A text as UTF-8 without the escapes that programs print, its ASCII letters in lower case. */
interface Unescaped {
  readonly bytes: Uint8Array
  /** Where in the text each byte comes from; the last entry is the length of the text. */
  readonly starts: Uint32Array
}

interface Escapes {
  readonly percents: boolean
  readonly backslashes: 'keep' | 'drop' | 'decode'
}

/**
 * The escapes that programs add to a text. One reading is not enough: what follows a backslash or a percent sign by chance may look
 * like a code (`\146` is an f for gst_value_deserialize).
 */
const READINGS: readonly Escapes[] = [
  { percents: false, backslashes: 'keep' },
  { percents: true, backslashes: 'keep' },
  { percents: false, backslashes: 'drop' },
  { percents: true, backslashes: 'decode' },
]

/** The text without percent-encoding, backslashes, octal (`\146`) and JSON (`\u0066`) codes, in each reading. */
export const unescaped = (text: string): readonly Unescaped[] => {
  const plain = encoded(text)
  const readings = /[%\\]/.test(text) ? READINGS : READINGS.slice(0, 1)
  return readings.map(({ percents, backslashes }) => {
    const withoutPercents = percents ? decodePercents(plain) : plain
    return inLowerCase(backslashes === 'keep' ? withoutPercents : withoutBackslashes(withoutPercents, backslashes === 'decode'))
  })
}

const encoded = (text: string): Unescaped => {
  const bytes = new TextEncoder().encode(text)
  const starts = new Uint32Array(bytes.length + 1)
  let [at, offset] = [0, 0]
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    const length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    starts.fill(offset, at, at + length)
    at += length
    offset += character.length
  }
  starts[bytes.length] = text.length
  return { bytes, starts }
}

/** Collects the bytes of a shorter form of a text. */
class Writer {
  readonly #from: Unescaped
  readonly #bytes: Uint8Array
  readonly #starts: Uint32Array
  #length = 0

  constructor(from: Unescaped) {
    this.#from = from
    this.#bytes = new Uint8Array(from.bytes.length)
    this.#starts = new Uint32Array(from.bytes.length + 1)
  }

  /** Adds a byte; `at`: index of the first byte that it was made from. */
  push(byte: number, at: number): void {
    this.#bytes[this.#length] = byte
    this.#starts[this.#length] = this.#from.starts[at] ?? 0
    this.#length += 1
  }

  end(): Unescaped {
    this.#starts[this.#length] = this.#from.starts[this.#from.bytes.length] ?? 0
    return { bytes: this.#bytes.subarray(0, this.#length), starts: this.#starts.subarray(0, this.#length + 1) }
  }
}

const [PERCENT, BACKSLASH, SMALL_U] = [0x25, 0x5c, 0x75]

/** The number that `count` digits from index `at` on make; undefined unless all are digits. */
const digits = (bytes: Uint8Array, at: number, count: number, base: 8 | 16): number | undefined => {
  let value = 0
  for (let index = at; index < at + count; index += 1) {
    const byte = bytes[index] ?? 0
    const letter = byte | 0x20
    const digit = byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : base
    if (digit >= base) return undefined
    value = value * base + digit
  }
  return value
}

const decodePercents = (text: Unescaped): Unescaped => {
  const { bytes } = text
  const out = new Writer(text)
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0
    const code = byte === PERCENT ? digits(bytes, at + 1, 2, 16) : undefined
    out.push(code ?? byte, at)
    at += code === undefined ? 1 : 3
  }
  return out.end()
}

const withoutBackslashes = (text: Unescaped, decodes: boolean): Unescaped => {
  const { bytes } = text
  const out = new Writer(text)
  for (let at = 0; at < bytes.length; ) {
    const begin = at
    while (bytes[at] === BACKSLASH) at += 1
    if (at === bytes.length) break
    const octal = decodes && at > begin ? digits(bytes, at, 3, 8) : undefined
    const unit = decodes && at > begin && bytes[at] === SMALL_U ? digits(bytes, at + 1, 4, 16) : undefined
    if (octal !== undefined && octal <= 0xff) {
      out.push(octal, begin)
      at += 3
    } else if (unit !== undefined) {
      const low = isHighSurrogate(unit) ? lowSurrogate(bytes, at + 5) : undefined
      const character = String.fromCharCode(unit, ...(low === undefined ? [] : [low.unit]))
      for (const byte of new TextEncoder().encode(character)) out.push(byte, begin)
      at = low?.end ?? at + 5
    } else {
      out.push(bytes[at] ?? 0, begin)
      at += 1
    }
  }
  return out.end()
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00

/** The low surrogate of a character beyond U+FFFF, as another JSON code. */
const lowSurrogate = (bytes: Uint8Array, from: number): { readonly unit: number; readonly end: number } | undefined => {
  let at = from
  while (bytes[at] === BACKSLASH) at += 1
  const unit = at > from && bytes[at] === SMALL_U ? digits(bytes, at + 1, 4, 16) : undefined
  return unit === undefined || unit < 0xdc00 || unit > 0xdfff ? undefined : { unit, end: at + 5 }
}

const inLowerCase = ({ bytes, starts }: Unescaped): Unescaped => ({
  bytes: bytes.map((byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte)),
  starts,
})
