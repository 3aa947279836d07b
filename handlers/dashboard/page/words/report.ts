import type { TestReport } from '../api/types.ts'
import { bitrateText, CODEC_NAMES, fpsText } from './format.ts'

/** What a test has found, in short texts. */
export const reportTexts = ({ video, audio, bitrate_kbps, klv, start_ms }: TestReport): readonly string[] => [
  video === null ? 'No video: the description names no element pay0' : videoText(video),
  ...(bitrate_kbps > 0 ? [bitrateText(bitrate_kbps)] : []),
  audio === null ? 'No sound' : `Sound: ${soundText(audio)}`,
  klv ? 'With KLV metadata' : 'No KLV metadata',
  `First picture after ${(start_ms / 1000).toFixed(1)} s`,
]

const nameOf = (codec: string): string => (CODEC_NAMES as Readonly<Record<string, string>>)[codec] ?? codec.toUpperCase()

const videoText = ({ codec, width, height, fps }: NonNullable<TestReport['video']>): string => {
  const size = width === null || height === null ? [] : [`${width}×${height}`]
  const encode = Object.hasOwn(CODEC_NAMES, codec) ? '' : '. Encode it below: browsers and most players need H.264'
  return [nameOf(codec), ...size, ...(fps === null ? [] : [fpsText(fps)])].join(', ') + encode
}

/** `AAC, 48 kHz, stereo`. */
export const soundText = ({ codec, rate, channels, reason }: NonNullable<TestReport['audio']>): string => {
  const facts = [nameOf(codec), ...(rate === null ? [] : [`${rate / 1000} kHz`]), ...(channels === null ? [] : [channelsText(channels)])]
  return `${facts.join(', ')}${reason === null ? '' : `. ${reason}`}`
}

const channelsText = (channels: number): string => (channels === 1 ? 'mono' : channels === 2 ? 'stereo' : `${channels} channels`)
