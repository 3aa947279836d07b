import { readBerOid } from './ber.ts'
import { decodeImapb } from './imapb.ts'
import type { Tag, TagType } from './tags.ts'

/** A decoded value in the tag's unit; null when it is invalid, empty, of a wrong length or raw. */
export type KlvValue = number | string | null

type Decoder = (view: DataView, offset: number, length: number, tag: Tag) => KlvValue

const readUint = (view: DataView, offset: number, length: number): number => {
  if (length === 4) return view.getUint32(offset)
  if (length === 2) return view.getUint16(offset)
  if (length === 1) return view.getUint8(offset)
  if (length === 8) return view.getUint32(offset) * 2 ** 32 + view.getUint32(offset + 4)
  let value = 0
  for (let i = offset; i < offset + length; i++) value = value * 256 + view.getUint8(i)
  return value
}

const readInt = (view: DataView, offset: number, length: number): number => {
  if (length === 4) return view.getInt32(offset)
  if (length === 2) return view.getInt16(offset)
  if (length === 1) return view.getInt8(offset)
  if (length === 8) return view.getInt32(offset) * 2 ** 32 + view.getUint32(offset + 4)
  const value = readUint(view, offset, length)
  return view.getUint8(offset) < 0x80 ? value : value - 2 ** (8 * length)
}

// A double has 53 bits of precision: a larger integer (a time stamp beyond the year 2255) is garbage.
const exact = (value: number): number | null => (Number.isSafeInteger(value) ? value : null)

const decodeMapped: Decoder = (view, offset, length, tag) =>
  (readUint(view, offset, length) * (tag.max - tag.min)) / (2 ** (8 * length) - 1) + tag.min

const decodeMappedSigned: Decoder = (view, offset, length, tag) => {
  const value = readInt(view, offset, length)
  return value === tag.invalid ? null : (value * tag.max) / (2 ** (8 * length - 1) - 1)
}

const utf8 = new TextDecoder('utf-8')

const decodeText: Decoder = (view, offset, length) => {
  let end = offset + length
  while (end > offset && view.getUint8(end - 1) === 0) end -= 1 // some encoders pad with NUL
  let ascii = ''
  for (let i = offset; i < end; i++) {
    const octet = view.getUint8(i)
    // For a short text this is several times faster than TextDecoder.
    if (octet >= 0x80) return utf8.decode(new Uint8Array(view.buffer, view.byteOffset + offset, end - offset))
    ascii += String.fromCharCode(octet)
  }
  return ascii
}

/** Tag 127: numerator and denominator; an omitted denominator is 1. */
const decodeRatio: Decoder = (view, offset, length) => {
  const end = offset + length
  const numerator = readBerOid(view, offset, end)
  if (typeof numerator === 'string') return null
  if (numerator.next === end) return numerator.value
  const denominator = readBerOid(view, numerator.next, end)
  if (typeof denominator === 'string' || denominator.value === 0) return null
  return numerator.value / denominator.value
}

const DECODERS: Readonly<Record<Exclude<TagType, 'set' | 'pack'>, Decoder>> = {
  mapped: decodeMapped,
  mapped_signed: decodeMappedSigned,
  uint: (view, offset, length, tag) => exact(readUint(view, offset, length) * tag.step),
  int: (view, offset, length) => exact(readInt(view, offset, length)),
  time_us: (view, offset, length) => exact(readUint(view, offset, length)),
  imapb: (view, offset, length, tag) => decodeImapb(view, offset, length, tag.min, tag.max),
  text: decodeText,
  ratio: decodeRatio,
}

/** Decodes the value bytes of a tag (its section in ST 0601 section 8); the caller has checked the bounds. */
export const decodeValue = (view: DataView, offset: number, length: number, tag: Tag): KlvValue => {
  // A zero-length item means that the value is no longer known.
  if (length < tag.minLength || length > tag.maxLength || length === 0) return null
  switch (tag.type) {
    // The two most frequent types are called directly: an indirect call costs as much as they do.
    case 'mapped':
      return decodeMapped(view, offset, length, tag)
    case 'mapped_signed':
      return decodeMappedSigned(view, offset, length, tag)
    case 'set':
    case 'pack':
      return null
    default:
      return DECODERS[tag.type](view, offset, length, tag)
  }
}
