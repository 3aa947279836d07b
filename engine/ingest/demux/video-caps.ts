import type { RtpCaps } from '../../rtp/caps.ts'
import type { NalCodec } from '../../rtp/repair/nal-units.ts'

/** Payload type of video in our outputs. */
export const VIDEO_PAYLOAD = 96

/** The caps of video that the engine itself puts into RTP; `sets`: parameter sets as caps have them, where they are known before the pictures. */
export const videoCaps = (codec: NalCodec, sets: ReadonlyMap<string, string> = new Map()): RtpCaps => ({
  media: 'video',
  encodingName: codec,
  payload: VIDEO_PAYLOAD,
  clockRate: 90_000,
  parameters: new Map([...(codec === 'H264' ? [['packetization-mode', '1'] as const] : []), ['timestamp-offset', '0'], ...sets]),
})
