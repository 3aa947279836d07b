import { BitReader } from '../bits.ts'

type Payloads = readonly Uint8Array[]
type Parameters = ReadonlyMap<string, string>

/** Frames of one RTP unit; more are malformed. */
const MAX_FRAMES = 256

const joined = (payloads: Payloads): Uint8Array => (payloads.length === 1 && payloads[0] ? payloads[0] : Buffer.concat(payloads))

const lengthOf = (parameters: Parameters, name: string, fallback: number): number => {
  const value = Number(parameters.get(name) ?? fallback)
  return Number.isInteger(value) && value >= 0 && value <= 16 ? value : fallback
}

/** AAC in the generic format (RFC 3640 section 3.2): headers with the size of each access unit, then the access units. */
export const depacketizeGeneric = (payloads: Payloads, parameters: Parameters): readonly Uint8Array[] => {
  const sizeBits = lengthOf(parameters, 'sizelength', 13)
  const indexBits = lengthOf(parameters, 'indexlength', 3)
  const deltaBits = lengthOf(parameters, 'indexdeltalength', 3)
  const frames: Uint8Array[] = []
  const fragments: Uint8Array[] = []
  for (const payload of payloads) {
    const headerBits = ((payload[0] ?? 0) << 8) | (payload[1] ?? 0)
    const dataAt = 2 + Math.ceil(headerBits / 8)
    if (sizeBits === 0 || payload.length < dataAt) return frames
    const bits = new BitReader(payload.subarray(2, dataAt))
    let at = dataAt
    for (let left = headerBits, count = 0; left >= sizeBits + (count === 0 ? indexBits : deltaBits) && count < MAX_FRAMES; count += 1) {
      const size = bits.number(sizeBits)
      const more = count === 0 ? indexBits : deltaBits
      if (more > 0) bits.number(more)
      left -= sizeBits + more
      // A fragment states the size of its whole access unit (section 3.1).
      if (size > payload.length - at) fragments.push(payload.subarray(at))
      else if (size > 0) frames.push(payload.subarray(at, at + size))
      at += size
    }
  }
  return fragments.length === 0 ? frames : [...frames, joined(fragments)]
}

/** AAC in LATM without its configuration in the band (RFC 6416 section 6.3): each frame after its length. */
export const depacketizeLatm = (payloads: Payloads): readonly Uint8Array[] => {
  const bytes = joined(payloads)
  const frames: Uint8Array[] = []
  for (let at = 0; at < bytes.length && frames.length < MAX_FRAMES; ) {
    let size = 0
    while (bytes[at] === 0xff) size += bytes[at++] ?? 0
    size += bytes[at++] ?? 0
    if (size === 0 || size > bytes.length - at) break
    frames.push(bytes.subarray(at, at + size))
    at += size
  }
  return frames
}

/** MPEG audio after the header of RFC 2250 section 3.5, whose second half is where in its frame the data begins. */
export const depacketizeMpa = (payloads: Payloads): readonly Uint8Array[] =>
  payloads.flatMap((payload) => (payload.length > 4 && payload[2] === 0 && payload[3] === 0 ? [payload.subarray(4)] : []))

export const wholePayloads = (payloads: Payloads): readonly Uint8Array[] => payloads.filter(({ length }) => length > 0)
