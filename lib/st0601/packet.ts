import { readBerLength, readBerOid } from './ber.ts'
import { findTag } from './tags.ts'
import { decodeValue, type KlvValue } from './value.ts'

/** The universal key of the UAS Datalink Local Set (ST 0601). */
export const ST0601_KEY = Uint8Array.of(0x06, 0x0e, 0x2b, 0x34, 0x02, 0x0b, 0x01, 0x01, 0x0e, 0x01, 0x03, 0x01, 0x01, 0x00, 0x00, 0x00)
export const KEY_LENGTH = 16

export interface KlvItem {
  readonly tag: number
  readonly value: KlvValue
  /** Range of the value bytes in `KlvPacket.bytes`: [start, end). See `itemBytes`. */
  readonly start: number
  readonly end: number
}

/** One ST 0601 local set with a valid checksum. */
export interface KlvPacket {
  /** The whole packet, key to checksum; not copied. */
  readonly bytes: Uint8Array
  /** In the order of the packet, the checksum (tag 1) last. */
  readonly items: readonly KlvItem[]
  /** Precision time stamp (tag 2), microseconds since 1970; null when absent. */
  readonly timestampUs: number | null
}

/** Why bytes are not a packet. A packet with a wrong or missing checksum is never decoded. */
type KlvRejection = 'not_st0601' | 'truncated' | 'malformed' | 'bad_checksum'

const CHECKSUM_TAG = 1
const TIMESTAMP_TAG = 2
const CHECKSUM_ITEM_LENGTH = 4 // tag, length, two bytes
/** Seven times the number of tags: items without bytes could otherwise turn a small packet into a large object. */
const MAX_ITEMS = 1000

/** The checksum of tag 1 over `bytes[0, end)`: a running 16-bit sum of alternating high and low bytes (ST 0601 section 8.1). */
export const checksum = (bytes: Uint8Array, end: number): number => {
  let high = 0
  let low = 0
  const pairs = end - (end % 2)
  for (let i = 0; i < pairs; i += 2) {
    high += bytes[i] ?? 0
    low += bytes[i + 1] ?? 0
  }
  if (pairs < end) high += bytes[pairs] ?? 0
  // The sums stay exact far beyond the largest packet; only their low 16 bits count.
  return ((high % 256) * 256 + low) % 65536
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const hasSt0601Key = (bytes: Uint8Array): boolean => {
  for (let i = 0; i < KEY_LENGTH; i++) if (bytes[i] !== ST0601_KEY[i]) return false
  return true
}

/**
 * Decodes the ST 0601 packet at the start of `bytes` and ignores the bytes after it. Never throws: returns why it rejects
 * a packet. Unknown tags and nested sets are items with a null value. `bytes` must not change afterwards.
 */
export const decodePacket = (bytes: Uint8Array): KlvPacket | KlvRejection => {
  if (bytes.length < KEY_LENGTH) return 'truncated'
  if (!hasSt0601Key(bytes)) return 'not_st0601'
  const view = viewOf(bytes)
  const content = readBerLength(view, KEY_LENGTH, bytes.length)
  if (typeof content === 'string') return content
  const end = content.next + content.value
  if (end > bytes.length) return 'truncated'
  if (content.value < CHECKSUM_ITEM_LENGTH) return 'bad_checksum'
  if (view.getUint16(end - 2) !== checksum(bytes, end - 2)) return 'bad_checksum'
  return readItems(end === bytes.length ? bytes : bytes.subarray(0, end), view, content.next, end)
}

const readItems = (bytes: Uint8Array, view: DataView, start: number, end: number): KlvPacket | KlvRejection => {
  const items: KlvItem[] = []
  let timestampUs: number | null = null
  let last = 0
  let offset = start
  while (offset < end) {
    const tag = readBerOid(view, offset, end)
    if (typeof tag === 'string') return 'malformed'
    const length = readBerLength(view, tag.next, end)
    if (items.length === MAX_ITEMS) return 'malformed'
    if (typeof length === 'string' || length.next + length.value > end) return 'malformed'
    offset = length.next + length.value
    last = tag.value
    const known = findTag(last)
    const value = known === undefined ? null : decodeValue(view, length.next, length.value, known)
    if (last === TIMESTAMP_TAG && typeof value === 'number') timestampUs = value
    items.push({ tag: last, value, start: length.next, end: offset })
  }
  // A matching sum under another tag is a coincidence: the standard requires tag 1 to be the last item.
  return last === CHECKSUM_TAG ? { bytes, items, timestampUs } : 'bad_checksum'
}

/** The value bytes of an item, a view into the packet. */
export const itemBytes = (packet: KlvPacket, item: KlvItem): Uint8Array => packet.bytes.subarray(item.start, item.end)

/** The value of a tag; null when it is absent, invalid or raw. When a tag is repeated, the last item counts. */
export const tagValue = (packet: KlvPacket, tag: number): KlvValue => {
  for (let i = packet.items.length - 1; i >= 0; i--) {
    const item = packet.items[i]
    if (item?.tag === tag) return item.value
  }
  return null
}

/** Like `tagValue`, for a tag with a numeric value. */
export const numberOfTag = (packet: KlvPacket, tag: number): number | null => {
  const value = tagValue(packet, tag)
  return typeof value === 'number' ? value : null
}
