interface Mapping {
  /** Integer steps per unit of the value (sF). */
  readonly forward: number
  /** Units of the value per integer step (sR). */
  readonly reverse: number
  /** Shifts the steps so that 0.0 inside the range is mapped exactly. */
  readonly zeroOffset: number
}

/** The scale factors of IMAPB for a range and a length of 1 to 8 bytes (ST 1201, "Starting Point B"). */
const mapping = (min: number, max: number, length: number): Mapping => {
  const rangePower = Math.ceil(Math.log2(max - min))
  const valuePower = 8 * length - 1
  const forward = 2 ** (valuePower - rangePower)
  const zeroOffset = min < 0 && max > 0 ? forward * min - Math.floor(forward * min) : 0
  return { forward, reverse: 2 ** (rangePower - valuePower), zeroOffset }
}

/**
 * Whether the value at `offset` is a special one (NaN, infinity, below minimum, above maximum, reserved) instead of a mapped
 * number: its high bit is set. 0x80 followed by zeros only is a mapped number: the maximum.
 */
const isSpecial = (view: DataView, offset: number, length: number): boolean => {
  const first = view.getUint8(offset)
  return first > 0x80 || (first === 0x80 && !restIsZero(view, offset + 1, offset + length))
}

const restIsZero = (view: DataView, start: number, end: number): boolean => {
  for (let i = start; i < end; i++) if (view.getUint8(i) !== 0) return false
  return true
}

/**
 * Decodes an IMAPB value of 1 to 8 bytes (MISB ST 1201), in the unit of `min` and `max`. Null for a special value
 * (NaN, infinity, below minimum, above maximum, reserved), for a number outside the range and for any other length.
 */
export const decodeImapb = (view: DataView, offset: number, length: number, min: number, max: number): number | null => {
  if (length < 1 || length > 8 || isSpecial(view, offset, length)) return null
  let steps = 0
  for (let i = offset; i < offset + length; i++) steps = steps * 256 + view.getUint8(i)
  const { reverse, zeroOffset } = mapping(min, max, length)
  const value = reverse * (steps - zeroOffset) + min
  return value > max + reverse ? null : Math.min(value, max)
}

/** Encodes a value as IMAPB in 1 to 8 bytes (MISB ST 1201): NaN for null; below minimum or above maximum outside the range. */
export const encodeImapb = (value: number | null, length: number, min: number, max: number): Uint8Array => {
  if (length < 1 || length > 8) throw new RangeError(`IMAPB takes 1 to 8 bytes, not ${length}`)
  const bytes = new Uint8Array(length)
  // ST 1201 special values: positive quiet NaN, below minimum, above maximum.
  const special = value === null || Number.isNaN(value) ? 0xd0 : value < min ? 0xe0 : value > max ? 0xe1 : null
  if (special !== null) {
    bytes[0] = special
    return bytes
  }
  const { forward, zeroOffset } = mapping(min, max, length)
  let steps = Math.floor(forward * ((value ?? 0) - min) + zeroOffset)
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = steps % 256
    steps = Math.floor(steps / 256)
  }
  return bytes
}
