/** Reads the bits of a NAL unit; past the end it reads zeros, so that a truncated parameter set causes no exception. */
class Bits {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get ended(): boolean {
    return this.#at > this.#bytes.length * 8
  }

  bit(): number {
    const byte = this.#bytes[this.#at >> 3] ?? 0
    const bit = (byte >> (7 - (this.#at & 7))) & 1
    this.#at += 1
    return bit
  }

  number(bits: number): number {
    let value = 0
    for (let read = 0; read < bits; read++) value = value * 2 + this.bit()
    return value
  }

  /** Exp-Golomb, unsigned (H.264 section 9.1). */
  ue(): number {
    let zeros = 0
    while (this.bit() === 0 && zeros < 32) zeros += 1
    return 2 ** zeros - 1 + this.number(zeros)
  }

  /** Exp-Golomb, signed. */
  se(): number {
    const code = this.ue()
    return code % 2 === 1 ? (code + 1) / 2 : -code / 2
  }
}

/** Removes the emulation prevention bytes (H.264 section 7.3.1). */
const withoutEmulation = (nal: Uint8Array): Uint8Array =>
  nal.filter((byte, at) => !(byte === 3 && at >= 2 && nal[at - 1] === 0 && nal[at - 2] === 0))

const HIGH_PROFILES = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135])
const MAX_CYCLE = 255
const EXTENDED_SAR = 255

const skipScalingList = (bits: Bits, size: number): void => {
  let last = 8
  let next = 8
  for (let entry = 0; entry < size; entry++) {
    if (next !== 0) next = (last + bits.se() + 256) % 256
    last = next === 0 ? last : next
  }
}

const skipHighProfile = (bits: Bits): void => {
  const chroma = bits.ue()
  if (chroma === 3) bits.bit()
  bits.ue()
  bits.ue()
  bits.bit()
  if (bits.bit() === 0) return
  for (let list = 0; list < (chroma === 3 ? 12 : 8); list++) if (bits.bit() === 1) skipScalingList(bits, list < 6 ? 16 : 64)
}

const skipPictureOrder = (bits: Bits): void => {
  const type = bits.ue()
  if (type === 0) bits.ue()
  if (type !== 1) return
  bits.bit()
  bits.se()
  bits.se()
  const cycle = Math.min(bits.ue(), MAX_CYCLE)
  for (let frame = 0; frame < cycle; frame++) bits.se()
}

const skipToVui = (bits: Bits): void => {
  bits.ue()
  bits.bit()
  bits.ue()
  bits.ue()
  if (bits.bit() === 0) bits.bit()
  bits.bit()
  if (bits.bit() === 1) for (let side = 0; side < 4; side++) bits.ue()
}

const skipToTiming = (bits: Bits): void => {
  if (bits.bit() === 1 && bits.number(8) === EXTENDED_SAR) bits.number(32)
  if (bits.bit() === 1) bits.bit()
  if (bits.bit() === 1) {
    bits.number(4)
    if (bits.bit() === 1) bits.number(24)
  }
  if (bits.bit() === 1) {
    bits.ue()
    bits.ue()
  }
}

/** Frames per second in the VUI of an H.264 sequence parameter set (section E.1.1), null when there is none or it is out of range. */
export const frameRateOfSps = (nal: Uint8Array): number | null => {
  const [header = 0, profile = 0] = nal
  if ((header & 0x1f) !== 7 || nal.length > 1024) return null
  const bits = new Bits(withoutEmulation(nal.subarray(4)))
  bits.ue()
  if (HIGH_PROFILES.has(profile)) skipHighProfile(bits)
  bits.ue()
  skipPictureOrder(bits)
  skipToVui(bits)
  if (bits.bit() === 0) return null
  skipToTiming(bits)
  if (bits.bit() === 0) return null
  const unitsInTick = bits.number(32)
  // A frame lasts two ticks, one for each field.
  const rate = bits.number(32) / (2 * unitsInTick)
  return !bits.ended && rate >= 1 && rate <= 240 ? rate : null
}
