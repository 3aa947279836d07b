/** The package of an element. */
export interface ElementPackage {
  /** Of Debian and Ubuntu. */
  readonly aptPackage: string
  /** What does not work without the element; left out: hardly anything works. */
  readonly without?: string
}

/** By name. */
export type Elements = Readonly<Record<string, ElementPackage>>

const from =
  (aptPackage: string) =>
  (without?: string): ElementPackage => ({ aptPackage, ...(without !== undefined && { without }) })

export const core = from('libgstreamer1.0-0')
export const base = from('gstreamer1.0-plugins-base')
export const good = from('gstreamer1.0-plugins-good')
export const bad = from('gstreamer1.0-plugins-bad')
const libav = from('gstreamer1.0-libav')

const MPEGTS = 'MPEG-TS sources'
const KLV = 'KLV'
const SCREENSHOTS = 'screenshots'
const SOUND = 'sound'

/**
 * The elements of launch lines, but for encoders, which encoder-table.ts has, and those of sources and pushes alone, which their
 * files have: no other name compiles. `doctor` checks them.
 */
export const ELEMENTS = {
  capsfilter: core(),
  fdsink: core(),
  fdsrc: core(),
  identity: core(),
  queue: core(),
  tee: core(),
  valve: core(),
  decodebin: base(),
  parsebin: base(),
  videoconvert: base(),
  videorate: base(),
  videoscale: base(),
  videotestsrc: base(),
  clocksync: core(),
  gdpdepay: bad(),
  gdppay: bad(),
  rtph264depay: good(),
  rtph264pay: good(),
  rtph265depay: good(),
  rtph265pay: good(),
  h264parse: bad(),
  h265parse: bad(),
  switchbin: bad('sources in a container, such as MPEG-TS, RTMP, HLS and files, and re-encoding to H.265'),
  rtpfunnel: good('HTTP, HLS and file sources'),
  rtpklvdepay: good(KLV),
  rtpklvpay: good(KLV),
  capssetter: good('KLV, and re-encoding to H.265'),
  rtpmp2tpay: good(MPEGTS),
  tsdemux: bad(MPEGTS),
  flvdemux: good('RTMP sources'),
  rtpjpegdepay: good('re-encoding of JPEG'),
  rtpvp8depay: good('re-encoding of VP8'),
  rtpvp9depay: good('re-encoding of VP9'),
  rtpmp4vdepay: good('re-encoding of MPEG-4'),
  mpeg4videoparse: bad('re-encoding of MPEG-4'),
  rtpmpvdepay: good('re-encoding of MPEG-2'),
  mpegvideoparse: bad('re-encoding of MPEG-2'),
  jpegdec: good('screenshots of JPEG'),
  vp8dec: good('screenshots of VP8'),
  vp9dec: good('screenshots of VP9'),
  avdec_h264: libav('screenshots and re-encoding of H.264'),
  avdec_h265: libav('screenshots and re-encoding of H.265'),
  jpegenc: good(SCREENSHOTS),
  avenc_aac: libav(SOUND),
  opusenc: base(SOUND),
  audioconvert: base(SOUND),
  audioresample: base(SOUND),
  audiotestsrc: base(SOUND),
  aacparse: good(SOUND),
  mpegaudioparse: good(SOUND),
  opusparse: bad(SOUND),
  rtpmp4gpay: good(SOUND),
  rtpmpapay: good(SOUND),
  rtpopuspay: good(SOUND),
  rtppcmapay: good(SOUND),
  rtppcmupay: good(SOUND),
  rtppcmadepay: good(SOUND),
  rtppcmudepay: good(SOUND),
  alawdec: good(SOUND),
  mulawdec: good(SOUND),
} as const satisfies Elements

/** Names of elements that launch lines may have; encoders are known by the end of their names. */
export type ElementName = keyof typeof ELEMENTS | EncoderName

/** `x264enc`, `vah265enc` … */
export type EncoderName = `${string}enc`

/** Debian and Ubuntu package of an element, by the beginning of its name; gstreamer1.0-plugins-bad has the others. */
const PACKAGES: readonly (readonly [RegExp, string])[] = [
  [/^x264enc|^mpeg2dec|^asf/, 'gstreamer1.0-plugins-ugly'],
  [/^avdec_|^avenc_|^avmux_|^avdemux_/, 'gstreamer1.0-libav'],
  [/^rtspclientsink/, 'gstreamer1.0-rtsp'],
  [/^vaapi/, 'gstreamer1.0-vaapi'],
  [
    /^(?:alsa|app|audio|video(?:convert|scale|rate|test)|decodebin|playbin|uridecodebin|parsebin|ogg|opus|theora|tcp|gio|encodebin)/,
    'gstreamer1.0-plugins-base',
  ],
  [
    /^(?:rtp(?!src|sink)|rtsp|udp|v4l2|jpeg|png|vp8|vp9|souphttp|flv|matroska|qt|mp4|isomp4|multi|progressreport|wav|avi|pulse|deinterlace|autodetect)/,
    'gstreamer1.0-plugins-good',
  ],
  [/^(?:text|time|clock)overlay|^textrender/, 'gstreamer1.0-x'],
]

/** The package that has an element of this name, if its name shows it. */
export const knownPackage = (element: string): string | undefined => PACKAGES.find(([pattern]) => pattern.test(element))?.[1]

export const packageOf = (element: string): string => knownPackage(element) ?? 'gstreamer1.0-plugins-bad'
