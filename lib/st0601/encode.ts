import { berLength, berOid } from './ber.ts'
import { encodeImapb } from './imapb.ts'
import { checksum, ST0601_KEY } from './packet.ts'
import { findTag, type Tag, type TagType } from './tags.ts'

/** The value of a tag to encode: in its unit, null for "invalid" or "unknown", or raw bytes. */
export type KlvInput = number | string | null | Uint8Array

type Encoder = (value: number, tag: Tag) => Uint8Array

/** Big-endian two's complement or unsigned, `length` bytes. */
const integer = (value: number, length: number): Uint8Array => {
  const bytes = new Uint8Array(length)
  let rest = value
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = ((rest % 256) + 256) % 256
    rest = Math.floor(rest / 256)
  }
  return bytes
}

const ratio: Encoder = (value) => {
  const denominator = Number.isInteger(value) ? 1 : 1001 // 29.97 is 30000/1001
  return Uint8Array.of(...berOid(Math.round(value * denominator)), ...berOid(denominator))
}

const ENCODERS: Readonly<Record<Exclude<TagType, 'text' | 'set' | 'pack'>, Encoder>> = {
  mapped: (value, tag) => integer(Math.round(((value - tag.min) / (tag.max - tag.min)) * (2 ** (8 * tag.length) - 1)), tag.length),
  mapped_signed: (value, tag) => integer(Math.round((value / tag.max) * (2 ** (8 * tag.length - 1) - 1)), tag.length),
  uint: (value, tag) => integer(Math.round(value / tag.step), tag.length),
  int: (value, tag) => integer(Math.round(value), tag.length),
  time_us: (value, tag) => integer(Math.round(value), tag.length),
  imapb: (value, tag) => encodeImapb(value, tag.length, tag.min, tag.max),
  ratio,
}

/** The value bytes of a tag. RangeError for a number outside the tag's range, an unknown tag or a value of the wrong kind. */
export const encodeValue = (tagNumber: number, value: KlvInput): Uint8Array => {
  if (value instanceof Uint8Array) return value
  const tag = findTag(tagNumber)
  if (tag === undefined) throw new RangeError(`Tag ${tagNumber} is not in ST 0601. Pass its raw bytes.`)
  if (value === null) return tag.invalid === null ? new Uint8Array(0) : integer(tag.invalid, tag.length)
  if (tag.type === 'text') return new TextEncoder().encode(String(value))
  if (tag.type === 'set' || tag.type === 'pack' || typeof value === 'string')
    throw new RangeError(`${tag.name} (tag ${tagNumber}) takes ${tag.type === 'set' || tag.type === 'pack' ? 'raw bytes' : 'a number'}`)
  if (!(value >= tag.min && value <= tag.max))
    throw new RangeError(`${tag.name} (tag ${tagNumber}) is ${tag.min} to ${tag.max}, not ${value}`)
  return ENCODERS[tag.type](value, tag)
}

/**
 * Encodes a local set (ST 0601): the items in the given order, then the checksum (tag 1), which must not be
 * among them. The standard requires tag 2 first. RangeError as for `encodeValue`.
 */
export const encodePacket = (entries: Iterable<readonly [tag: number, value: KlvInput]>): Uint8Array => {
  const content: number[] = []
  for (const [tag, value] of entries) {
    const bytes = encodeValue(tag, value)
    content.push(...berOid(tag), ...berLength(bytes.length))
    for (const octet of bytes) content.push(octet)
  }
  const packet = Uint8Array.from([...ST0601_KEY, ...berLength(content.length + 4), ...content, 1, 2, 0, 0])
  packet.set(integer(checksum(packet, packet.length - 2), 2), packet.length - 2)
  return packet
}
