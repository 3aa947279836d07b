import { CODECS, type Codec } from '../../lib/schema/pipeline.ts'
import { element, type LaunchTokens } from './element.ts'
import type { EncoderName } from './elements.ts'

/** Settings of one encoder element. */
interface EncoderOptions {
  /** kbit/s */
  readonly bitrate: number
  /** 1 (fastest) to 10 (best). */
  readonly quality: number
  /** GOP length in frames. */
  readonly keyInterval: number
  /** The frame rate of the input may be presumed, so the stream does not say it. */
  readonly presumedRate?: boolean
}

/** How to use an encoder element. */
export interface Encoder {
  readonly codec: Codec
  /** Name of the GStreamer element. */
  readonly name: EncoderName
  readonly hardware: boolean
  /** Raw format of its sink pad: always 4:2:0, which every player decodes. */
  readonly pixelFormat: 'I420' | 'NV12'
  /** It fails on video whose frame rate is not known. */
  readonly needsFrameRate?: true
  /** Debian and Ubuntu package. */
  readonly aptPackage: string
  tokens(options: EncoderOptions): LaunchTokens
}

/** The entry of a table of ten for a quality of 1 to 10. */
const at = <T>(table: readonly [T, ...T[]], quality: number): T => table[Math.min(table.length, Math.max(1, quality)) - 1] ?? table[0]

/** 1–10 → 7 (fastest) – 1 (best): VA and Quick Sync have seven steps in the opposite order. */
const targetUsage = (quality: number): number => 7 - Math.round(((quality - 1) * 6) / 9)

type Preset = readonly [preset: string, more: string]
type Presets = readonly [Preset, ...Preset[]]

// Each step takes more CPU time than the one before (measured at 1080p on two cores: 119, 98, 82 … 63 … 17 frames per second).
// 7 leaves time to decode the source as well; presets slower than `slow` are too slow for live video.
const X264_QUALITY: Presets = [
  ['ultrafast', ''],
  ['superfast', ''],
  ['superfast', 'subme=2'],
  ['veryfast', 'subme=1'],
  ['veryfast', ''],
  ['veryfast', 'subme=3'],
  ['veryfast', 'subme=4'],
  ['faster', ''],
  ['medium', ''],
  ['slow', ''],
]

const x264 = ({ bitrate, quality, keyInterval }: EncoderOptions): LaunchTokens => {
  const [preset, more] = at(X264_QUALITY, quality)
  return element('x264enc', {
    tune: 'zerolatency',
    'speed-preset': preset,
    bitrate,
    'vbv-buf-capacity': 1000,
    'key-int-max': keyInterval,
    bframes: 0,
    // RTP needs no access unit delimiters, and some readers fail on a packet that contains only one.
    aud: false,
    // With the default of 10, simple pictures stay below the configured bitrate.
    'qp-min': 0,
    // nal-hrd=cbr pads simple pictures up to the configured bitrate with filler data (NAL unit type 12).
    'option-string': ['scenecut=0:nal-hrd=cbr', more].filter((option) => option !== '').join(':'),
  })
}

// x265 at `superfast` takes as much CPU time as x264 at `medium`, so seven values share its fastest preset.
const X265_QUALITY: Presets = [
  ['ultrafast', 'deblock=0'],
  ['ultrafast', ''],
  ['ultrafast', 'subme=1'],
  ['ultrafast', 'subme=1:signhide=1'],
  ['ultrafast', 'subme=1:signhide=1:me=hex'],
  ['ultrafast', 'subme=1:signhide=1:me=hex:rd=3'],
  ['ultrafast', 'subme=1:signhide=1:me=hex:rd=3:rdoq-level=1'],
  ['superfast', ''],
  ['veryfast', ''],
  ['medium', ''],
]

const x265 = ({ bitrate, quality, keyInterval, presumedRate = false }: EncoderOptions): LaunchTokens => {
  const [preset, more] = at(X265_QUALITY, quality)
  const rate = `vbv-maxrate=${bitrate}:vbv-bufsize=${bitrate}:strict-cbr=1`
  const timing = presumedRate ? 'no-vui-timing-info=1' : ''
  const shape = `keyint=${keyInterval}:min-keyint=${keyInterval}:scenecut=0:bframes=0:repeat-headers=1`
  return element('x265enc', {
    tune: 'zerolatency',
    'speed-preset': preset,
    bitrate,
    'key-int-max': keyInterval,
    'option-string': [shape, rate, timing, more].filter((option) => option !== '').join(':'),
  })
}

const openh264 = ({ bitrate, quality, keyInterval }: EncoderOptions): LaunchTokens => {
  const steps = Math.min(10, Math.max(1, quality))
  return element('openh264enc', {
    bitrate: bitrate * 1000,
    'max-bitrate': Math.round(bitrate * 1100),
    'rate-control': 'bitrate',
    'gop-size': keyInterval,
    complexity: steps <= 3 ? 'low' : steps <= 7 ? 'medium' : 'high',
    'adaptive-quantization': steps % 2 === 0,
    'background-detection': steps > 1 && steps !== 4 && steps !== 8,
    'scene-change-detection': false,
    deblocking: steps <= 1 ? 'off' : steps <= 5 ? 'not-slice-boundaries' : 'on',
  })
}

const va =
  (name: EncoderName) =>
  ({ bitrate, quality, keyInterval }: EncoderOptions): LaunchTokens =>
    element(name, {
      'rate-control': 'cbr',
      bitrate,
      'key-int-max': keyInterval,
      'b-frames': 0,
      'target-usage': targetUsage(quality),
    })

const vaapi =
  (name: EncoderName) =>
  ({ bitrate, quality, keyInterval }: EncoderOptions): LaunchTokens =>
    element(name, {
      'rate-control': 'cbr',
      bitrate,
      'keyframe-period': keyInterval,
      'max-bframes': 0,
      'quality-level': targetUsage(quality),
    })

/** Preset, and whether quantization adapts to parts of the picture; no step is quicker than the one before. */
const NVENC_QUALITY: readonly [readonly [string, boolean], ...(readonly [string, boolean])[]] = [
  ['low-latency-hp', false],
  ['low-latency-hp', true],
  ['low-latency-hp', true],
  ['low-latency', false],
  ['low-latency', false],
  ['low-latency', true],
  ['low-latency', true],
  ['low-latency-hq', false],
  ['low-latency-hq', true],
  ['low-latency-hq', true],
]

const nvenc =
  (name: EncoderName) =>
  ({ bitrate, quality, keyInterval }: EncoderOptions): LaunchTokens => {
    const [preset, adapts] = at(NVENC_QUALITY, quality)
    return element(name, { 'rc-mode': 'cbr', bitrate, 'gop-size': keyInterval, zerolatency: true, preset, 'spatial-aq': adapts })
  }

const quickSync =
  (name: EncoderName) =>
  ({ bitrate, quality, keyInterval }: EncoderOptions): LaunchTokens =>
    element(name, {
      'rate-control': 'cbr',
      bitrate,
      'gop-size': keyInterval,
      'b-frames': 0,
      'low-latency': true,
      'target-usage': targetUsage(quality),
    })

// Stateful V4L2 encoders (Raspberry Pi, i.MX) have controls instead of properties, and no speed presets.
const v4l2 =
  (name: EncoderName) =>
  ({ bitrate, keyInterval }: EncoderOptions): LaunchTokens =>
    element(name, {
      'extra-controls': `controls,video_bitrate_mode=1,video_bitrate=${bitrate * 1000},video_gop_size=${keyInterval},h264_i_frame_period=${keyInterval},repeat_sequence_header=1`,
    })

const BAD = 'gstreamer1.0-plugins-bad'
const hardware = (codec: Codec, name: EncoderName, aptPackage: string, tokens: Encoder['tokens']): Encoder => ({
  codec,
  name,
  hardware: true,
  pixelFormat: 'NV12',
  aptPackage,
  tokens,
})
const software = (codec: Codec, name: EncoderName, aptPackage: string, tokens: Encoder['tokens']): Encoder => ({
  codec,
  name,
  hardware: false,
  pixelFormat: 'I420',
  aptPackage,
  tokens,
})

/** Every supported encoder, best first. Add a new one here. */
export const ENCODERS: readonly Encoder[] = [
  hardware('h264', 'vah264enc', BAD, va('vah264enc')),
  hardware('h264', 'nvh264enc', BAD, nvenc('nvh264enc')),
  hardware('h264', 'qsvh264enc', BAD, quickSync('qsvh264enc')),
  hardware('h264', 'vaapih264enc', 'gstreamer1.0-vaapi', vaapi('vaapih264enc')),
  hardware('h264', 'v4l2h264enc', 'gstreamer1.0-plugins-good', v4l2('v4l2h264enc')),
  hardware('h265', 'vah265enc', BAD, va('vah265enc')),
  hardware('h265', 'nvh265enc', BAD, nvenc('nvh265enc')),
  hardware('h265', 'qsvh265enc', BAD, quickSync('qsvh265enc')),
  hardware('h265', 'vaapih265enc', 'gstreamer1.0-vaapi', vaapi('vaapih265enc')),
  hardware('h265', 'v4l2h265enc', 'gstreamer1.0-plugins-good', v4l2('v4l2h265enc')),
  software('h264', 'x264enc', 'gstreamer1.0-plugins-ugly', x264),
  { ...software('h264', 'openh264enc', BAD, openh264), needsFrameRate: true },
  { ...software('h265', 'x265enc', BAD, x265), needsFrameRate: true },
]

/** Encoder elements of GStreamer by what is in their names: x264enc, openh264enc, nvh264enc, vah265lpenc, avenc_h264_omx, vtenc_h264 … */
const CODEC_NAMES: Readonly<Record<Codec, RegExp>> = { h264: /[xh]264/i, h265: /[xh]265|hevc/i }

/** The codec that an element encodes to, also of encoders that simple pipelines do not use; undefined for other elements. */
export const codecOfEncoder = (element: string): Codec | undefined =>
  /enc/i.test(element) ? CODECS.find((codec) => CODEC_NAMES[codec].test(element)) : undefined
