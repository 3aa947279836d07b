import { BitReader, withoutEmulation } from '../../codec/bits.ts'
import { NAL_FORMATS } from './nal-units.ts'
import { nalStarts } from './slices.ts'

const SEI = 6
const RECOVERY_POINT = 6
/** Only this much is searched. */
const MAX_SEI_BYTES = 512

/**
 * For how many pictures a decoder that starts at this one shows incomplete ones (recovery_frame_cnt, ITU-T H.264 section D.2.8).
 * Encoders without key frames, as in drones, refresh a part of each picture (intra refresh) and mark where that begins.
 */
export const recoveryFrames = (encodingName: string, payloads: readonly Buffer[]): number => {
  if (encodingName !== 'H264') return 0
  const format = NAL_FORMATS.H264
  for (const payload of payloads) {
    for (const { type, body } of nalStarts(format, payload)) {
      if (format.isSlice(type)) return 0
      const count = type === SEI ? recoveryFrameCount(withoutEmulation(body.subarray(0, MAX_SEI_BYTES))) : undefined
      if (count !== undefined) return count
    }
  }
  return 0
}

/** Takes an SEI unit without its header (section 7.3.2.3.1); undefined when no message marks a recovery point. */
const recoveryFrameCount = (messages: Uint8Array): number | undefined => {
  let at = 0
  const number = (): number => {
    let value = 0
    while (messages[at] === 0xff) value += messages[at++] ?? 0
    return value + (messages[at++] ?? 0)
  }
  while (at + 2 < messages.length) {
    const type = number()
    const size = number()
    if (type === RECOVERY_POINT) return new BitReader(messages.subarray(at, at + size)).ue()
    at += size
  }
  return undefined
}
