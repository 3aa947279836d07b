import { redact } from '../lib/redact.ts'
import type { AdvancedConfig, Codec, Encoding, SimpleConfig } from '../lib/schema/pipeline.ts'
import { namedPayloaders, tokenize } from './description.ts'
import type { Encoder } from './encoders.ts'
import { Fault } from './fault.ts'
import { chain, element, frameRateFraction, toArguments, type Words } from './sources/element.ts'
import type { SourceFacts } from './sources/facts.ts'
import { type SourceLine, sourceLine, TRACKS, TRANSPORT } from './sources/line.ts'

export interface LaunchStream {
  readonly payloader: 'pay0' | 'pay1'
  /** Descriptor of the child that carries its RTP, RFC 4571 framed. */
  readonly fd: number
  /** RTP caps known in advance, for a track that may stay silent; null when the child prints them. */
  readonly caps: string | null
  /** What comes is the whole MPEG-TS that the KLV is in, as RTP whose timestamps are the running time of its arrival. */
  readonly carries?: 'transport'
}

/** What is run: the arguments of gst-launch-1.0, and what comes out where. */
export interface Launch {
  /** argv after gst-launch-1.0; options go before it. */
  readonly args: readonly string[]
  /** Media pipes in order: fd 3, fd 4. */
  readonly streams: readonly LaunchStream[]
  readonly publishes: boolean
  /** The engine itself makes the KLV: a test source has none in its child. */
  readonly klvFlight?: true
  /** The description with credentials masked, a shell word each. */
  readonly shown: readonly string[]
}

/** Stays under the MTU of Ethernet with RTP, UDP, IPv6 and a tunnel around it. */
const MTU = 1400
const KEY_INTERVAL_SECONDS = 2
/** Assumed when nobody knows the frame rate: at this or any higher rate a key frame comes within two seconds. */
const LEAST_FRAME_RATE = 10

export const KLV_CAPS =
  'application/x-rtp, media=(string)application, clock-rate=(int)90000, encoding-name=(string)SMPTE336M, payload=(int)97'
/** Of KLV that the engine puts into RTP: its timestamps count running time, as those of the payloaders do. */
export const OWN_KLV_CAPS = `${KLV_CAPS}, timestamp-offset=(uint)0`

const PASSED_THROUGH: Readonly<Record<string, Codec>> = { H264: 'h264', H265: 'h265' }

/** Depayloader and parser by RTP encoding name; what is not here decodebin finds itself. */
const DEPAY: Readonly<Record<string, Words>> = {
  H264: chain(element('rtph264depay'), element('h264parse')),
  H265: chain(element('rtph265depay'), element('h265parse')),
  JPEG: element('rtpjpegdepay'),
  VP8: element('rtpvp8depay'),
  VP9: element('rtpvp9depay'),
  'MP4V-ES': chain(element('rtpmp4vdepay'), element('mpeg4videoparse')),
  MPV: chain(element('rtpmpvdepay'), element('mpegvideoparse')),
}

const ANY_VIDEO = ['x-h264', 'x-h265', 'mpeg', 'x-vp8', 'x-vp9', 'x-av1', 'x-h263', 'x-flash-video', 'x-vp6-flash']
  .map((type) => `video/${type}`)
  .concat('image/jpeg')
  .join(';')

// Timestamps and sequence numbers begin at 0: the publisher moves them so that readers see no break between two runs,
// and pay0 and pay1, both counting running time, share one clock.
const payloaderProperties = (name?: 'pay0' | 'pay1', pt = 96) => ({ name, pt, mtu: MTU, 'timestamp-offset': 0, 'seqnum-offset': 0 })

/** Parser and payloader; parameter sets go before every key frame, so that a reader can begin at any of them. */
const pay = (codec: Codec, name?: 'pay0'): Words =>
  chain(element(`${codec}parse`), element(`rtp${codec}pay`, { ...payloaderProperties(name), 'config-interval': -1 }))

const out = (fd: number, paced: boolean, preroll = paced): Words =>
  chain(element('rtpstreampay'), element('fdsink', { fd, sync: paced, async: preroll }))

const from = (name: string): Words => [`${name}.`]

/**
 * A thread for each track of a recording: its sinks wait, for the first picture and then for the clock, and one that
 * waits in the demuxer's own thread would keep the other tracks from coming.
 */
const apart = (facts: SourceFacts): Words =>
  facts.paced ? element('queue', { 'max-size-buffers': 0, 'max-size-bytes': 32 * 1024 * 1024, 'max-size-time': 3_000_000_000 }) : []

/** The launch line of a simple pipeline. Fault unsupported when the source cannot be passed through, missing_element without an encoder. */
export const simpleLaunch = (config: SimpleConfig, facts: SourceFacts, encoder: Encoder | null): Launch => {
  const line = sourceLine(config.source, facts)
  const encoding = config.encoding ?? (facts.kind === 'test' ? TEST_ENCODING : null)
  const video = encoding === null ? passThrough(line, facts) : encode(line, facts, encoding, encoder)
  const klv = facts.klv === false || line.ends === 'video' ? [] : klvBranch(line, facts)
  const klvStream = line.transport ? ({ caps: OWN_KLV_CAPS, carries: 'transport' } as const) : { caps: KLV_CAPS }
  const words = [...line.words, ...(line.ends === 'video' ? ['!'] : []), ...video, ...klv]
  return {
    args: ['--', ...toArguments(words)],
    streams: [{ payloader: 'pay0', fd: 3, caps: null }, ...(klv.length === 0 ? [] : [{ payloader: 'pay1' as const, fd: 4, ...klvStream }])],
    publishes: true,
    ...(facts.kind === 'test' && facts.klv === true && { klvFlight: true as const }),
    shown: words.map(mask),
  }
}

/** A source of raw pictures needs a codec even when none was asked for. */
export const TEST_ENCODING: Encoding = { codec: 'h264', bitrate: 2000, quality: 7 }

/** Which codec the launch line will encode to, null when it passes the video through. */
export const encodedCodec = (config: SimpleConfig, facts: Pick<SourceFacts, 'kind'>): Codec | null =>
  config.encoding?.codec ?? (facts.kind === 'test' ? TEST_ENCODING.codec : null)

const needsEncoding = (what: string): Fault =>
  new Fault('unsupported', `${what} Set encoding (for example {"codec":"h264"}) to have it re-encoded.`)

const passThrough = (line: SourceLine, facts: SourceFacts): Words => {
  const codec = PASSED_THROUGH[facts.video ?? '']
  const isRtp = line.form === 'rtp'
  if (isRtp && codec) return chain(from(TRACKS), element(`rtp${codec}depay`), pay(codec, 'pay0'), out(3, false))
  // Another codec inside RTSP is RTP already: it passes packet by packet as it came.
  if (isRtp) return chain(from(TRACKS), element('capsfilter', { name: 'pay0', caps: 'application/x-rtp,media=video' }), out(3, false))
  if (line.ends === 'video') {
    if (codec && line.form === 'parsed') return chain(pay(codec, 'pay0'), out(3, facts.paced))
    throw needsEncoding(line.form === 'raw' ? 'The source gives raw pictures.' : `The source gives ${facts.video ?? 'JPEG'} pictures.`)
  }
  return eitherCodec(facts)
}

/** Only the data tells whether it is H.264 or H.265: a branch for each, of which one gets linked, joined into one `pay0`. */
const eitherCodec = (facts: SourceFacts): Words => {
  const branch = (codec: Codec): Words => [...chain(from(TRACKS), [`video/x-${codec}`], apart(facts), pay(codec)), '!', 'either.']
  const joined = chain(element('funnel', { name: 'either' }), element('capsfilter', { name: 'pay0', caps: 'application/x-rtp' }))
  return [...branch('h264'), ...branch('h265'), ...chain(joined, out(3, facts.paced))]
}

const encode = (line: SourceLine, facts: SourceFacts, encoding: Encoding, encoder: Encoder | null): Words => {
  if (encoder === null) throw new Fault('missing_element', `No encoder for ${encoding.codec} was found on this host.`)
  const fps = encoding.fps ?? facts.frameRate
  const options = {
    bitrate: encoding.bitrate,
    quality: encoding.quality,
    keyInterval: Math.max(1, Math.floor((fps ?? LEAST_FRAME_RATE) * KEY_INTERVAL_SECONDS)),
  }
  return chain(
    decode(line, facts),
    // A thread of its own for the encoder. Live pictures that it cannot take are dropped instead of piling up as delay.
    element('queue', { 'max-size-buffers': 4, 'max-size-bytes': 0, 'max-size-time': 0, leaky: facts.paced ? undefined : 'downstream' }),
    ...(encoding.fps === undefined ? [] : [element('videorate'), [`video/x-raw,framerate=${frameRateFraction(encoding.fps)}`]]),
    element('videoconvert'),
    element('videoscale'),
    [
      // 4:2:0 in any case: x264enc would take 4:4:4 from raw sources, which hardly any player decodes.
      `video/x-raw,format=${encoder.pixelFormat}${encoding.width === undefined ? '' : `,width=${encoding.width},height=${encoding.height},pixel-aspect-ratio=1/1`}`,
    ],
    encoder.words(options),
    pay(encoding.codec, 'pay0'),
    out(3, facts.paced),
  )
}

/** decodebin takes a hardware decoder where there is one that works. */
const decode = (line: SourceLine, facts: SourceFacts): Words => {
  if (line.form === 'raw') return []
  if (line.ends === 'video') return element('decodebin')
  if (line.form === 'parsed') return chain(from(TRACKS), element('capsfilter', { caps: ANY_VIDEO }), apart(facts), element('decodebin'))
  const depay = DEPAY[facts.video ?? ''] ?? ['application/x-rtp,media=video']
  return chain(from(TRACKS), depay, element('decodebin'))
}

/** async=false: a KLV track that is silent, or not there, neither costs anything nor holds the video back. */
const klvBranch = (line: SourceLine, facts: SourceFacts): Words => {
  if (line.transport) return transportBranch()
  return chain(
    from(TRACKS),
    line.form === 'rtp' ? klvDepay(facts) : ['meta/x-klv'],
    apart(facts),
    element('rtpklvpay', payloaderProperties('pay1', 97)),
    out(4, facts.paced, false),
  )
}

/** rtpklvdepay takes one spelling only. */
const klvDepay = ({ klvName }: SourceFacts): Words =>
  klvName === undefined
    ? element('rtpklvdepay')
    : chain(
        [`application/x-rtp,media=application,encoding-name=${klvName}`],
        element('capssetter', { caps: 'application/x-rtp,encoding-name=SMPTE336M' }),
        element('rtpklvdepay'),
      )

/** The engine finds KLV in a TS itself: tsdemux has no pad for the synchronous kind. What the engine cannot take is dropped here, never waited for. */
const transportBranch = (): Words =>
  chain(
    from(TRANSPORT),
    element('queue', { 'max-size-buffers': 0, 'max-size-time': 0, 'max-size-bytes': 4 * 1024 * 1024, leaky: 'downstream' }),
    element('rtpmp2tpay', payloaderProperties(undefined, 33)),
    out(4, false),
  )

// As gst-rtsp-server has it: a description whose source is not live is shown at its own speed. Without the sinks' usual
// allowance of 20 ms a live one waits for nothing but the latency that its own elements declare.
const onTheClock = (fd: number): Words => element('fdsink', { fd, sync: true, async: false, 'processing-deadline': 0 })

const PAYLOADER_FD = { pay0: 3, pay1: 4 } as const

/** The launch line of an advanced pipeline: the description as it was written, and its payloaders led out. */
export const advancedLaunch = (config: Pick<AdvancedConfig, 'raw_pipeline'>): Launch => {
  const payloaders = namedPayloaders(config.raw_pipeline)
  const publishes = payloaders.includes('pay0')
  const led = publishes ? payloaders : []
  const tail = led.flatMap((payloader) => chain(from(payloader), element('rtpstreampay'), onTheClock(PAYLOADER_FD[payloader])))
  return {
    args: ['--', ...toArguments([config.raw_pipeline, ...tail])],
    streams: led.map((payloader) => ({ payloader, fd: PAYLOADER_FD[payloader], caps: null })),
    publishes,
    shown: [maskDescription(config.raw_pipeline), ...tail],
  }
}

const SECRET_NAMES =
  /^(?:user-?id|user-?pw|username|password|pass|passphrase|streamid|proxy-id|proxy-pw|token|secret|access-key|secret-access-key)$/i

const mask = (word: string): string => {
  const equals = word.indexOf('=')
  const name = word.slice(0, Math.max(0, equals)).trim().replaceAll('_', '-')
  return SECRET_NAMES.test(name) ? `${name}=***` : redact(word)
}

const maskDescription = (description: string): string =>
  redact(
    tokenize(description)
      .map((token) => (token.kind === 'assignment' ? mask(token.text) : token.text))
      .join(''),
  )

const shellQuote = (word: string): string => (/^[A-Za-z0-9_./:=,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/** The line to paste into a shell, credentials masked; what the engine would read goes to /dev/null. */
export const showLaunch = (launch: Launch): string => {
  const media = launch.streams.map(({ fd }) => ` ${fd}>/dev/null`).join('')
  return `gst-launch-1.0 -v ${launch.shown
    .flatMap((word) => word.split(' '))
    .map(shellQuote)
    .join(' ')}${media}`
}
