import { opusChannels, opusSamples } from '../../codec/audio/opus.ts'
import { type RtpCaps, SOUND_PAYLOAD } from '../../rtp/caps.ts'
import type { SoundFrame, SoundReader } from './sound-packets.ts'

/** Prefix of the control header, 11 bits, as FFmpeg and GStreamer write it. */
const PREFIX = 0x3ff << 5
const START_TRIM = 0x10
const END_TRIM = 0x08
const CONTROL_EXTENSION = 0x04
const CLOCK_RATE = 48_000

const octet = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0

/** Opus in MPEG-TS: each packet after its control header; to RFC 7587. */
export class OpusReader implements SoundReader {
  #caps: RtpCaps | undefined

  get caps(): RtpCaps | undefined {
    return this.#caps
  }

  push(payload: Uint8Array): readonly SoundFrame[] {
    const frames: SoundFrame[] = []
    for (let at = 0; at < payload.length; ) {
      const packet = packetAt(payload, at)
      if (packet === undefined) break
      at = packet.end
      const bytes = payload.subarray(packet.begin, packet.end)
      const duration = opusSamples(bytes)
      if (duration === 0) continue
      this.#caps ??= opusCaps(opusChannels(bytes))
      frames.push({ payloads: [bytes], duration })
    }
    return frames
  }

  reset(): void {}
}

/** The packet whose control header is at an offset. */
const packetAt = (bytes: Uint8Array, header: number): { readonly begin: number; readonly end: number } | undefined => {
  const flags = octet(bytes, header + 1)
  if ((((octet(bytes, header) << 8) | flags) & 0xffe0) !== PREFIX) return undefined
  let at = header + 2
  let size = 0
  while (octet(bytes, at) === 0xff) {
    size += 0xff
    at += 1
  }
  size += octet(bytes, at)
  at += 1
  if ((flags & START_TRIM) !== 0) at += 2
  if ((flags & END_TRIM) !== 0) at += 2
  if ((flags & CONTROL_EXTENSION) !== 0) at += 1 + octet(bytes, at)
  return at + size > bytes.length ? undefined : { begin: at, end: at + size }
}

export const opusCaps = (channels: 1 | 2): RtpCaps => ({
  media: 'audio',
  encodingName: 'OPUS',
  payload: SOUND_PAYLOAD,
  clockRate: CLOCK_RATE,
  parameters: new Map([
    ['encoding-params', '2'],
    ['sprop-stereo', channels === 2 ? '1' : '0'],
    ['timestamp-offset', '0'],
  ]),
})
