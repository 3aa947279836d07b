import { redact } from '../../lib/redact.ts'
import type { Codec, Encoding, SimpleConfig } from '../../lib/schema/pipeline.ts'
import type { Settings } from '../../lib/schema/settings.ts'
import { validationError } from '../../lib/validate.ts'
import { Fault } from '../fault.ts'
import { runToEnd } from '../gst/child.ts'
import { chooseEncoder } from '../gst/choose-encoder.ts'
import { chain, element, frameRateFraction, type LaunchTokens, toArguments } from '../gst/element.ts'
import type { Encoder } from '../gst/encoder-table.ts'
import type { SourceFacts } from '../sources/facts.ts'
import { type SourceLine, sourceLine, TRACKS, TRANSPORT } from '../sources/launch-line.ts'
import { type ProbeContext, presumeFacts } from '../sources/probe.ts'
import { from, KLV_CAPS, type Launch, mask, OWN_KLV_CAPS } from './launch.ts'

/** Stays under the MTU of Ethernet with RTP, UDP, IPv6 and a tunnel around it. */
const MTU = 1400
const KEY_INTERVAL_SECONDS = 2
/** Assumed when nobody knows the frame rate: at this or any higher rate a key frame comes within two seconds. */
const LEAST_FRAME_RATE = 10

const PASSED_THROUGH: Readonly<Record<string, Codec>> = { H264: 'h264', H265: 'h265' }

/** Depayloader and parser by RTP encoding name; what is not here decodebin finds itself. */
const DEPAY: Readonly<Record<string, LaunchTokens>> = {
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
const pay = (codec: Codec, name?: 'pay0'): LaunchTokens =>
  chain(element(`${codec}parse`), element(`rtp${codec}pay`, { ...payloaderProperties(name), 'config-interval': -1 }))

const out = (fd: number, paced: boolean, preroll = paced): LaunchTokens =>
  chain(element('rtpstreampay'), element('fdsink', { fd, sync: paced, async: preroll }))

/**
 * A thread for each track of a recording: its sinks wait, for the first picture and then for the clock, and one that
 * waits in the demuxer's own thread would keep the other tracks from coming.
 */
const apart = (facts: SourceFacts): LaunchTokens =>
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

const passThrough = (line: SourceLine, facts: SourceFacts): LaunchTokens => {
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
const eitherCodec = (facts: SourceFacts): LaunchTokens => {
  const branch = (codec: Codec): LaunchTokens => [...chain(from(TRACKS), [`video/x-${codec}`], apart(facts), pay(codec)), '!', 'either.']
  const joined = chain(element('funnel', { name: 'either' }), element('capsfilter', { name: 'pay0', caps: 'application/x-rtp' }))
  return [...branch('h264'), ...branch('h265'), ...chain(joined, out(3, facts.paced))]
}

const encode = (line: SourceLine, facts: SourceFacts, encoding: Encoding, encoder: Encoder | null): LaunchTokens => {
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
const decode = (line: SourceLine, facts: SourceFacts): LaunchTokens => {
  if (line.form === 'raw') return []
  if (line.ends === 'video') return element('decodebin')
  if (line.form === 'parsed') return chain(from(TRACKS), element('capsfilter', { caps: ANY_VIDEO }), apart(facts), element('decodebin'))
  const depay = DEPAY[facts.video ?? ''] ?? ['application/x-rtp,media=video']
  return chain(from(TRACKS), depay, element('decodebin'))
}

/** async=false: a KLV track that is silent, or not there, neither costs anything nor holds the video back. */
const klvBranch = (line: SourceLine, facts: SourceFacts): LaunchTokens => {
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
const klvDepay = ({ klvName }: SourceFacts): LaunchTokens =>
  klvName === undefined
    ? element('rtpklvdepay')
    : chain(
        [`application/x-rtp,media=application,encoding-name=${klvName}`],
        element('capssetter', { caps: 'application/x-rtp,encoding-name=SMPTE336M' }),
        element('rtpklvdepay'),
      )

/** The engine finds KLV in a TS itself: tsdemux has no pad for the synchronous kind. What the engine cannot take is dropped here, never waited for. */
const transportBranch = (): LaunchTokens =>
  chain(
    from(TRANSPORT),
    element('queue', { 'max-size-buffers': 0, 'max-size-time': 0, 'max-size-bytes': 4 * 1024 * 1024, leaky: 'downstream' }),
    element('rtpmp2tpay', payloaderProperties(undefined, 33)),
    out(4, false),
  )

/**
 * Dry run of a simple pipeline: everything that can be known without asking the source. Answers the line it would run, with
 * H.264 presumed of an RTSP source; a camera that is attached is held to what it offers. Throws VALIDATION_ERROR; Fault missing_element without an encoder.
 */
export const checkSimple = async (
  config: SimpleConfig,
  settings: Settings,
  options: Pick<ProbeContext, 'allowFiles' | 'cameras'>,
): Promise<Launch> => {
  try {
    const facts = await presumeFacts(config.source, { ...options, reencode: config.encoding !== null })
    const codec = encodedCodec(config, facts)
    const encoder = codec === null ? null : await chooseEncoder(codec, settings.encoder.preference, runToEnd)
    return simpleLaunch(config, facts, encoder)
  } catch (error) {
    if (!(error instanceof Fault) || (error.reason !== 'unsupported' && error.reason !== 'permission')) throw error
    throw validationError('pipeline', [{ path: 'source.uri', message: redact(error.message) }])
  }
}
