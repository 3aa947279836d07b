import { chain, element, type LaunchTokens, toArguments } from '../../gst/element.ts'
import type { RtpCaps } from '../../rtp/caps.ts'

export interface JpegFormat {
  /** 1 (smallest) to 100 (best) of libjpeg. */
  readonly quality: number
  /** Pixels at most; null: as wide as the stream. */
  readonly width: number | null
}

export interface DecoderLine extends JpegFormat {
  readonly caps: RtpCaps
  /** The input holds one access unit; else only the newest picture of it is wanted. */
  readonly single: boolean
  /** Let GStreamer find the decoder, which is slower to start. */
  readonly generic: boolean
}

/** Named decoders start faster than decodebin, stay on one thread and keep hardware decoders for the streams. */
const DECODERS: Readonly<Record<string, LaunchTokens>> = {
  H264: chain(element('rtph264depay'), element('h264parse'), element('avdec_h264', { 'max-threads': 1 })),
  H265: chain(element('rtph265depay'), element('h265parse'), element('avdec_h265', { 'max-threads': 1 })),
  JPEG: chain(element('rtpjpegdepay'), element('jpegdec')),
  VP8: chain(element('rtpvp8depay'), element('vp8dec')),
  VP9: chain(element('rtpvp9depay'), element('vp9dec')),
}

/** Whether the line of this codec names its decoder, so that one with `generic` may do better. */
export const hasOwnDecoder = ({ encodingName }: RtpCaps): boolean => Object.hasOwn(DECODERS, encodingName)

// A frame rate of one in an hour keeps the first picture (flagged discont, dropped) and, at the end, the newest; all others are
// let go before they are converted. Raw pictures may come without a time, so they get one from their bytes.
const ONLY_NEWEST = chain(
  element('identity', { datarate: 1_000_000 }),
  element('videorate'),
  ['video/x-raw,framerate=1/3600'],
  element('identity', { 'drop-buffer-flags': 'discont' }),
)

// JPEG (JFIF) is full range BT.601. Between YUV formats videoconvert leaves the values of a stream that names no colorimetry as
// they are; the step over RGB makes it convert.
const JPEG_COLOURS = chain(element('videoconvert'), ['video/x-raw,format=RGB'], element('videoconvert'), [
  'video/x-raw,format=I420,colorimetry=1:4:0:0',
])

/** argv of the gst-launch-1.0 that reads RFC 4571 on its stdin and writes a JPEG to its stdout. */
export const decoderLine = ({ caps, single, generic, quality, width }: DecoderLine): readonly string[] => {
  const own = generic ? undefined : DECODERS[caps.encodingName]
  const words = chain(
    element('fdsrc', { fd: 0, blocksize: 65536 }),
    element('capsfilter', { caps: streamCaps(caps) }),
    element('rtpstreamdepay'),
    own ?? chain(element('decodebin'), ['video/x-raw']),
    single ? [] : ONLY_NEWEST,
    width === null ? [] : chain(element('videoscale'), [`video/x-raw,width=[1,${width}],pixel-aspect-ratio=1/1`]),
    JPEG_COLOURS,
    element('jpegenc', { quality }),
    element('fdsink', { fd: 1, sync: false }),
  )
  return ['-q', '--', ...toArguments(words)]
}

/** Of the pad or of the sender's clock, not of the format. */
const NOT_FORMAT = /^(?:ssrc|clock-base|seqnum-base|timestamp-offset|seqnum-offset|npt-.*|play-.*|framerate|profile|level|a-framerate)$/
const FIELD_NAME = /^[A-Za-z][A-Za-z0-9-]{0,63}$/
/** Base64, hexadecimal, sizes, names: what a field of a format holds. Others are left out, since they come from outside. */
const FIELD_VALUE = /^[A-Za-z0-9+/=,.:; _-]{1,8192}$/

const streamCaps = ({ media, clockRate, encodingName, parameters }: RtpCaps): string => {
  const fields = [...parameters].filter(([name, value]) => FIELD_NAME.test(name) && FIELD_VALUE.test(value) && !NOT_FORMAT.test(name))
  return [
    'application/x-rtp-stream',
    `media=(string)${media}`,
    `clock-rate=(int)${clockRate}`,
    `encoding-name=(string)${encodingName}`,
    ...fields.map(([name, value]) => `${name}=(string)"${value}"`),
  ].join(',')
}
