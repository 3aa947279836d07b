import { parseMpegAudio } from '../../codec/audio/mpeg-audio.ts'
import type { RtpCaps } from '../../rtp/caps.ts'
import { FrameSplitter } from './frame-splitter.ts'
import type { SoundFrame, SoundReader } from './sound-packets.ts'

const HEADER = 4
/** RFC 3551 section 6. */
const PAYLOAD = 14
const CLOCK_RATE = 90_000
const MAX_PART_BYTES = 1400

const CAPS: RtpCaps = {
  media: 'audio',
  encodingName: 'MPA',
  payload: PAYLOAD,
  clockRate: CLOCK_RATE,
  parameters: new Map([['timestamp-offset', '0']]),
}

const lengthOf = (bytes: Uint8Array, at: number): number | undefined => parseMpegAudio(bytes.subarray(at, at + HEADER))?.frameBytes

/** MPEG audio, to RFC 2250 section 3.5. */
export class MpegAudioReader implements SoundReader {
  readonly #frames = new FrameSplitter(HEADER, lengthOf)
  #caps: RtpCaps | undefined

  get caps(): RtpCaps | undefined {
    return this.#caps
  }

  push(payload: Uint8Array): readonly SoundFrame[] {
    return this.#frames.push(payload).flatMap(({ bytes, began }) => {
      const header = parseMpegAudio(bytes)
      if (header === undefined) return []
      this.#caps = CAPS
      return [{ payloads: payloadsOf(bytes), duration: (header.samples * CLOCK_RATE) / header.rate, ...(began && { began }) }]
    })
  }

  reset(): void {
    this.#frames.reset()
  }
}

/** Each part after where in the frame it begins. */
const payloadsOf = (frame: Uint8Array): readonly Uint8Array[] => {
  const payloads: Uint8Array[] = []
  for (let at = 0; at < frame.length; at += MAX_PART_BYTES) {
    const part = frame.subarray(at, at + MAX_PART_BYTES)
    const payload = new Uint8Array(HEADER + part.length)
    payload.set([0, 0, at >> 8, at & 0xff])
    payload.set(part, HEADER)
    payloads.push(payload)
  }
  return payloads
}
