/** A number read from a buffer and the offset after it. */
interface BerField {
  readonly value: number
  readonly next: number
}

// Four octets hold any length below 4 GiB and any tag below 2^28, far beyond real local sets.
const MAX_LENGTH_OCTETS = 4
const MAX_OID_OCTETS = 4

/**
 * Reads a BER length (ITU-T X.690 8.1.3, short and long form) at `offset`, reading only below `end`.
 * `truncated` when more bytes are needed, `malformed` for the indefinite form and for lengths of more than four octets.
 */
export const readBerLength = (view: DataView, offset: number, end: number): BerField | 'truncated' | 'malformed' => {
  if (offset >= end) return 'truncated'
  const first = view.getUint8(offset)
  if (first < 0x80) return { value: first, next: offset + 1 }
  const octets = first & 0x7f
  if (octets === 0 || octets > MAX_LENGTH_OCTETS) return 'malformed'
  if (offset + 1 + octets > end) return 'truncated'
  let value = 0
  for (let i = 1; i <= octets; i++) value = value * 256 + view.getUint8(offset + i)
  return { value, next: offset + 1 + octets }
}

/**
 * Reads a BER-OID number (ITU-T X.690 8.19.2: seven bits an octet, high bit set on all but the last) at `offset`.
 * `malformed` for a leading 0x80, which X.690 forbids, and for more than four octets.
 */
export const readBerOid = (view: DataView, offset: number, end: number): BerField | 'truncated' | 'malformed' => {
  let value = 0
  for (let i = 0; i < MAX_OID_OCTETS; i++) {
    if (offset + i >= end) return 'truncated'
    const octet = view.getUint8(offset + i)
    if (i === 0 && octet === 0x80) return 'malformed'
    value = value * 128 + (octet & 0x7f)
    if (octet < 0x80) return { value, next: offset + i + 1 }
  }
  return 'malformed'
}

/** The shortest BER form of a length in bytes (ITU-T X.690 8.1.3). RangeError beyond four octets. */
export const berLength = (length: number): readonly number[] => {
  if (!Number.isInteger(length) || length < 0 || length > 0xffffffff) throw new RangeError(`Not a BER length: ${length}`)
  if (length < 0x80) return [length]
  const octets: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256)
  return [0x80 | octets.length, ...octets]
}

/** A number in BER-OID form (ITU-T X.690 8.19.2). RangeError when it is negative or needs more than four octets. */
export const berOid = (value: number): readonly number[] => {
  if (!Number.isInteger(value) || value < 0 || value >= 2 ** 28) throw new RangeError(`Not a BER-OID number: ${value}`)
  const octets = [value & 0x7f]
  for (let rest = value >> 7; rest > 0; rest >>= 7) octets.unshift(0x80 | (rest & 0x7f))
  return octets
}
