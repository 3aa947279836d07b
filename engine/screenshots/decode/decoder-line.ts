import { chain, element, type LaunchTokens, toArguments } from '../../gst/element.ts'
import { gdpStart } from '../../gst/gdp.ts'
import { formatRtpCaps, type RtpCaps } from '../../rtp/caps.ts'

export interface JpegFormat {
  /** 1 (smallest) to 100 (best) of libjpeg. */
  readonly quality: number
  /** Maximum in pixels; null: as wide as the stream. */
  readonly width: number | null
}

export interface DecoderFormat extends JpegFormat {
  readonly caps: RtpCaps
  /** The input has one access unit; else only its newest picture is encoded. */
  readonly single: boolean
  /** Lets GStreamer choose the decoder (decodebin), which starts more slowly. */
  readonly generic: boolean
  /** The process stays for the next key frame: no end of its input makes the decoder output what it holds. */
  readonly kept?: boolean
}

/** setpriv(1) runs nice(1), which runs the decoder with a lower priority than streams and API. */
const NICENESS = ['-n', '10'] as const

/**
 * With one thread avdec_h264 loses a first picture that is no IDR (open GOPs, intra refresh): it asks for a buffer for each frame number
 * that seems to be missing before it, and gets one a packet. A kept decoder stays with one, since with two each key frame waits for the next.
 */
const H264_TO_THE_END = chain(element('rtph264depay'), element('h264parse'), element('avdec_h264', { 'max-threads': 2 }))

/** Named decoders start faster than decodebin, use one thread and leave hardware decoders to the streams. */
const DECODERS: Readonly<Record<string, LaunchTokens>> = {
  H264: chain(element('rtph264depay'), element('h264parse'), element('avdec_h264', { 'max-threads': 1 })),
  H265: chain(element('rtph265depay'), element('h265parse'), element('avdec_h265', { 'max-threads': 1 })),
  JPEG: chain(element('rtpjpegdepay'), element('jpegdec')),
  VP8: chain(element('rtpvp8depay'), element('vp8dec')),
  VP9: chain(element('rtpvp9depay'), element('vp9dec')),
}

/** Whether the line names a decoder for this codec; with `generic` another one may succeed. */
export const hasOwnDecoder = ({ encodingName }: RtpCaps): boolean => Object.hasOwn(DECODERS, encodingName)

// A frame rate of one in ten days keeps the first picture (flagged discont and dropped) and, at EOS, the newest; all others are
// dropped before conversion. Raw pictures may lack a timestamp, so identity derives one from their size: videorate drops the newest, too,
// when it comes less than a second after the first, so a picture of 32 × 32 has to last for one.
const ONLY_NEWEST = chain(
  element('identity', { datarate: 1000 }),
  element('videorate'),
  ['video/x-raw,framerate=1/864000'],
  element('identity', { 'drop-buffer-flags': 'discont' }),
)

// JPEG (JFIF) is full range BT.601. Between YUV formats videoconvert does not convert the values of a stream without colorimetry;
// the step through RGB forces the conversion.
const JPEG_COLORS = chain(element('videoconvert'), ['video/x-raw,format=RGB'], element('videoconvert'), [
  'video/x-raw,format=I420,colorimetry=1:4:0:0',
])

/** A gst-launch-1.0 that reads RTP packets on stdin and writes JPEGs to stdout, both in the GStreamer Data Protocol. */
export interface Decoder {
  /** Program and arguments. */
  readonly command: readonly [string, ...string[]]
  /** Goes before the packets. */
  readonly start: Buffer
}

export const toDecoder = ({ caps, single, generic, kept = false, quality, width }: DecoderFormat): Decoder => {
  const own = generic ? undefined : !kept && caps.encodingName === 'H264' ? H264_TO_THE_END : DECODERS[caps.encodingName]
  const tokens = chain(
    element('fdsrc', { fd: 0, blocksize: 65536 }),
    element('gdpdepay'),
    own ?? chain(element('decodebin'), ['video/x-raw']),
    single ? [] : ONLY_NEWEST,
    width === null ? [] : chain(element('videoscale'), [`video/x-raw,width=[1,${width}],pixel-aspect-ratio=1/1`]),
    JPEG_COLORS,
    element('jpegenc', { quality }),
    element('gdppay'),
    element('fdsink', { fd: 1, sync: false }),
  )
  return { command: ['nice', ...NICENESS, 'gst-launch-1.0', '-q', '--', ...toArguments(tokens)], start: gdpStart(formatOf(caps)) }
}

const TRANSPORT_DECODERS = {
  h264: chain(['video/x-h264'], element('h264parse'), element('avdec_h264', { 'max-threads': 2 })),
  h265: chain(['video/x-h265'], element('h265parse'), element('avdec_h265', { 'max-threads': 1 })),
} as const

/** What a piece of MPEG-TS has; `single`: one picture. */
export interface TransportFormat {
  readonly codec: 'h264' | 'h265'
  readonly quality: number
  readonly single: boolean
}

/** As `toDecoder`, for MPEG-TS on stdin: program and arguments. */
export const transportDecoder = ({ codec, quality, single }: TransportFormat): Decoder['command'] => {
  const tokens = chain(
    element('fdsrc', { fd: 0, blocksize: 65536 }),
    element('tsdemux'),
    TRANSPORT_DECODERS[codec],
    single ? [] : ONLY_NEWEST,
    JPEG_COLORS,
    element('jpegenc', { quality }),
    element('gdppay'),
    element('fdsink', { fd: 1, sync: false }),
  )
  return ['nice', ...NICENESS, 'gst-launch-1.0', '-q', '--', ...toArguments(tokens)]
}

/** Fields of the pad or of the sender's clock, not of the format. */
const NOT_FORMAT = /^(?:ssrc|clock-base|seqnum-base|timestamp-offset|seqnum-offset|npt-.*|play-.*|framerate|profile|level|a-framerate)$/

const formatOf = (caps: RtpCaps): string =>
  formatRtpCaps({ ...caps, parameters: new Map([...caps.parameters].filter(([name]) => !NOT_FORMAT.test(name))) })
