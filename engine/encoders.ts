import type { Codec } from '../lib/schema/pipeline.ts'
import type { Settings } from '../lib/schema/settings.ts'
import type { runToEnd } from './child.ts'
import { Fault } from './fault.ts'
import { chain, element, toArguments, type Words } from './sources/element.ts'

/** What is asked of an encoder. */
export interface EncoderOptions {
  /** kbit/s */
  readonly bitrate: number
  /** 1 (fastest) to 10 (best). */
  readonly quality: number
  /** Frames from one key frame to the next. */
  readonly keyInterval: number
}

/** An encoder that this host has. */
export interface Encoder {
  readonly codec: Codec
  /** Name of the GStreamer element. */
  readonly name: string
  readonly hardware: boolean
  /** What the element takes: 4:2:0 in any case, as every player decodes it. */
  readonly pixelFormat: 'I420' | 'NV12'
  /** Debian and Ubuntu package. */
  readonly aptPackage: string
  words(options: EncoderOptions): Words
}

/** The entry of a table of ten for a quality of 1 to 10. */
const at = <T>(table: readonly [T, ...T[]], quality: number): T => table[Math.min(table.length, Math.max(1, quality)) - 1] ?? table[0]

/** 1–10 → 7 (fastest) – 1 (best): VA and Quick Sync count the other way, in seven steps. */
const targetUsage = (quality: number): number => 7 - Math.round(((quality - 1) * 6) / 9)

// x264 spends its time on motion search (subme) and reference frames, so two values share a preset where the next preset would cost twice as much.
const X264_QUALITY: readonly [readonly [string, string], ...(readonly [string, string])[]] = [
  ['ultrafast', ''],
  ['superfast', ''],
  ['superfast', 'subme=2'],
  ['veryfast', 'subme=1'],
  ['veryfast', ''],
  ['veryfast', 'subme=4'],
  ['faster', ''],
  ['fast', ''],
  ['medium', ''],
  ['slow', ''],
]

const x264 = ({ bitrate, quality, keyInterval }: EncoderOptions): Words => {
  const [preset, more] = at(X264_QUALITY, quality)
  return element('x264enc', {
    tune: 'zerolatency',
    'speed-preset': preset,
    bitrate,
    'vbv-buf-capacity': 1000,
    'key-int-max': keyInterval,
    bframes: 0,
    // The element's own default of 10 starves simple pictures of the bitrate that was asked for.
    'qp-min': 0,
    'option-string': ['scenecut=0', more].filter((option) => option !== '').join(':'),
  })
}

// x265 at `superfast` costs what x264 costs at `medium`.
const X265_QUALITY: readonly [readonly [string, string], ...(readonly [string, string])[]] = [
  ['ultrafast', 'subme=0'],
  ['ultrafast', ''],
  ['ultrafast', 'subme=1'],
  ['ultrafast', 'subme=1:sao=1'],
  ['superfast', 'subme=0'],
  ['superfast', ''],
  ['superfast', 'subme=2'],
  ['veryfast', ''],
  ['faster', ''],
  ['medium', ''],
]

const x265 = ({ bitrate, quality, keyInterval }: EncoderOptions): Words => {
  const [preset, more] = at(X265_QUALITY, quality)
  const rate = `vbv-maxrate=${bitrate}:vbv-bufsize=${bitrate}:strict-cbr=1`
  const shape = `keyint=${keyInterval}:min-keyint=${keyInterval}:scenecut=0:bframes=0:repeat-headers=1`
  return element('x265enc', {
    tune: 'zerolatency',
    'speed-preset': preset,
    bitrate,
    'key-int-max': keyInterval,
    'option-string': [shape, rate, more].filter((option) => option !== '').join(':'),
  })
}

const openh264 = ({ bitrate, quality, keyInterval }: EncoderOptions): Words => {
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
  (name: string) =>
  ({ bitrate, quality, keyInterval }: EncoderOptions): Words =>
    element(name, {
      'rate-control': 'cbr',
      bitrate,
      'key-int-max': keyInterval,
      'b-frames': 0,
      'target-usage': targetUsage(quality),
    })

const vaapi =
  (name: string) =>
  ({ bitrate, quality, keyInterval }: EncoderOptions): Words =>
    element(name, {
      'rate-control': 'cbr',
      bitrate,
      'keyframe-period': keyInterval,
      'max-bframes': 0,
      'quality-level': targetUsage(quality),
    })

const nvenc =
  (name: string) =>
  ({ bitrate, quality, keyInterval }: EncoderOptions): Words =>
    element(name, {
      'rc-mode': 'cbr',
      bitrate,
      'gop-size': keyInterval,
      zerolatency: true,
      preset: quality <= 3 ? 'low-latency-hp' : quality <= 7 ? 'low-latency' : 'low-latency-hq',
      'spatial-aq': quality % 2 === 0,
    })

const quickSync =
  (name: string) =>
  ({ bitrate, quality, keyInterval }: EncoderOptions): Words =>
    element(name, {
      'rate-control': 'cbr',
      bitrate,
      'gop-size': keyInterval,
      'b-frames': 0,
      'low-latency': true,
      'target-usage': targetUsage(quality),
    })

// Stateful V4L2 encoders (Raspberry Pi, i.MX) have controls, not properties; they know no speed presets.
const v4l2 =
  (name: string) =>
  ({ bitrate, keyInterval }: EncoderOptions): Words =>
    element(name, {
      'extra-controls': `controls,video_bitrate_mode=1,video_bitrate=${bitrate * 1000},video_gop_size=${keyInterval},h264_i_frame_period=${keyInterval},repeat_sequence_header=1`,
    })

const BAD = 'gstreamer1.0-plugins-bad'
const hardware = (codec: Codec, name: string, aptPackage: string, words: Encoder['words']): Encoder => ({
  codec,
  name,
  hardware: true,
  pixelFormat: 'NV12',
  aptPackage,
  words,
})
const software = (codec: Codec, name: string, aptPackage: string, words: Encoder['words']): Encoder => ({
  codec,
  name,
  hardware: false,
  pixelFormat: 'I420',
  aptPackage,
  words,
})

/** Every encoder we can drive, best first. */
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
  software('h264', 'openh264enc', BAD, openh264),
  software('h265', 'x265enc', BAD, x265),
]

type Run = typeof runToEnd

const PROBE_MS = 5000

const exists = async (name: string, run: Run): Promise<boolean> => {
  const { exitCode, missing } = await run('gst-inspect-1.0', ['--exists', name], { timeoutMs: PROBE_MS })
  if (missing) throw new Fault('engine_missing', 'GStreamer is not installed. Install it: apt-get install gstreamer1.0-tools')
  return exitCode === 0
}

/** The driver of a hardware encoder may be there and still refuse to work: only a frame that comes out counts. */
const encodes = async (encoder: Encoder, run: Run): Promise<boolean> => {
  const line = chain(
    element('videotestsrc', { 'num-buffers': 8 }),
    [`video/x-raw,format=${encoder.pixelFormat},width=640,height=360,framerate=30/1`],
    encoder.words({ bitrate: 1000, quality: 7, keyInterval: 60 }),
    [`video/x-${encoder.codec}`],
    element('filesink', { location: '/dev/stdout' }),
  )
  const { exitCode, stdout } = await run('gst-launch-1.0', ['-q', '--', ...toArguments(line)], { timeoutMs: PROBE_MS })
  return exitCode === 0 && stdout.length > 0
}

const works = async (encoder: Encoder, run: Run): Promise<boolean> =>
  (await exists(encoder.name, run)) && (!encoder.hardware || (await encodes(encoder, run)))

type Preference = Settings['encoder']['preference']

const ALLOWED = {
  auto: () => true,
  software: (encoder) => !encoder.hardware,
  hardware: (encoder) => encoder.hardware,
} as const satisfies Record<Preference, (encoder: Encoder) => boolean>

const missing = (codec: Codec, candidates: readonly Encoder[], preference: Preference): Fault => {
  const name = codec === 'h264' ? 'H.264' : 'H.265'
  const packages = [...new Set(candidates.map((encoder) => encoder.aptPackage))].join(' or ')
  const advice =
    preference === 'hardware'
      ? `No hardware encoder for ${name} works on this host. Install its driver (${packages}), or set encoder.preference to auto in the settings.`
      : `No encoder for ${name} is installed. Install one: apt-get install ${packages}`
  return new Fault('missing_element', advice)
}

const findEncoder = async (codec: Codec, preference: Preference, run: Run): Promise<Encoder> => {
  const candidates = ENCODERS.filter((encoder) => encoder.codec === codec && ALLOWED[preference](encoder))
  for (const candidate of candidates) if (await works(candidate, run)) return candidate
  throw missing(codec, preference === 'auto' ? candidates.filter((encoder) => !encoder.hardware) : candidates, preference)
}

// What works is found out once per process; what is missing is looked for again, since a user may install it meanwhile.
const found = new WeakMap<Run, Map<string, Promise<Encoder>>>()

/** The best encoder that this host really has. Fault missing_element names the apt package. */
export const chooseEncoder = (codec: Codec, preference: Preference, run: Run): Promise<Encoder> => {
  const known = found.get(run) ?? new Map<string, Promise<Encoder>>()
  found.set(run, known)
  const key = `${codec} ${preference}`
  const search = known.get(key) ?? findEncoder(codec, preference, run)
  known.set(key, search)
  search.catch(() => known.delete(key))
  return search
}
