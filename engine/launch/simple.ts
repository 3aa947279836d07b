import { redact } from '../../lib/redact.ts'
import type { Codec, Encoding, SimpleConfig } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import { validationError } from '../../lib/validate.ts'
import { Fault } from '../faults/fault.ts'
import { runToEnd } from '../gst/child.ts'
import { chooseEncoder } from '../gst/choose-encoder.ts'
import { chain, element, frameRateFraction, type LaunchTokens, toArguments } from '../gst/element.ts'
import type { Encoder } from '../gst/encoder-table.ts'
import { MAX_CUT_BYTES } from '../rtp/fragment.ts'
import { codecDevices } from '../sandbox/device-nodes.ts'
import { TRACKS, TRANSPORT } from '../sources/demuxers.ts'
import { parseSource } from '../sources/kinds.ts'
import type { SourceFacts, SourceHost, SourceLine } from '../sources/source-kind.ts'
import { type CheckedLaunch, KLV_CAPS, type Launch, maskToken, OWN_KLV_CAPS, padOf } from './launch.ts'
import { framed, mediaSink, pipeSink } from './media-sink.ts'
import { encodeSound, type SoundChoice, soundChoice, soundTrack } from './sound.ts'

/** Large packets cost less to pass to the engine, which fragments them. A packet of RTP has at most 65,535 bytes there. */
const PIPE_MTU = 65_000
const KEY_INTERVAL_SECONDS = 2
/** Assumed when the frame rate is not known: at this or any higher rate a key frame comes within two seconds. */
const MIN_FRAME_RATE = 10
/** Presumed for encoders that need a rate to keep the bitrate; most cameras have about this one. */
const USUAL_FRAME_RATE = 25

const PASSED_THROUGH: Readonly<Record<string, Codec>> = { H264: 'h264', H265: 'h265' }

/** Depayloader and parser by RTP encoding name; decodebin finds those of any other. */
const DEPAYLOADERS: Readonly<Record<string, LaunchTokens>> = {
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

// Timestamps and sequence numbers begin at 0: the engine shifts them so that readers see no break between two runs,
// and pay0 and pay1, which both count running time, share one clock.
const payloaderProperties = (mtu: number, name?: 'pay0' | 'pay1', pt = 96) => ({ name, pt, mtu, 'timestamp-offset': 0, 'seqnum-offset': 0 })

/**
 * Parser and payloader. The parser puts parameter sets before every key frame, so that a reader can begin at any of them; the
 * payloader would repeat them before every slice of it, and ffmpeg takes each repetition for the begin of a picture.
 */
const payloader = (codec: Codec, name?: 'pay0'): LaunchTokens =>
  chain(
    element(`${codec}parse`, { 'config-interval': -1 }),
    element(`rtp${codec}pay`, { ...payloaderProperties(PIPE_MTU, name), 'config-interval': 0 }),
  )

/**
 * A queue, and so a thread, for each track of a recording: its sinks wait, for preroll and then for the clock, and a sink
 * that waits in the demuxer's thread would block the other tracks.
 */
const trackQueue = (facts: SourceFacts): LaunchTokens =>
  facts.paced ? element('queue', { 'max-size-buffers': 0, 'max-size-bytes': 32 * 1024 * 1024, 'max-size-time': 3_000_000_000 }) : []

/** The launch line of a simple pipeline. Fault unsupported when the source cannot be passed through, missing_element without an encoder. */
export const simpleLaunch = (config: SimpleConfig, facts: SourceFacts, encoder: Encoder | null): Launch => {
  const { kind, parsed } = parseSource(config.source)
  const choice = soundChoice(config)
  const [source, reach] = [kind.line(parsed, { ...facts, sound: choice !== undefined }), kind.reach(parsed, facts)]
  const encoding = config.encoding ?? kind.encoding ?? null
  const video = encoding === null ? passThrough(source, facts) : encode(source, facts, encoding, encoder)
  const hasKlv = facts.klv !== false && source.ends !== 'video' && source.transport !== 'piped'
  // Whether a demuxer finds a KLV track shows only in its data.
  const mayLackKlv = hasKlv && source.form === 'parsed' && !source.transport
  const klv = hasKlv ? klvBranch(source, facts, mayLackKlv) : []
  const klvStream = source.transport ? ({ caps: OWN_KLV_CAPS, carries: 'mpegts' } as const) : { caps: KLV_CAPS }
  const sound = choice === undefined ? [] : soundBranch(source, facts, choice, klv.length === 0 ? 4 : 5)
  const isTeed = mayLackKlv || (sound.length > 0 && source.ends === 'tracks')
  const published = chain(video, isTeed ? element('tee', { name: VIDEO }) : [], mediaSink(3, facts.paced))
  const rest = [...(source.ends === 'video' ? ['!'] : []), ...published, ...klv, ...sound]
  return {
    args: [...(source.debug === undefined ? [] : [`--gst-debug=${source.debug}`]), '--', ...toArguments([...source.tokens, ...rest])],
    streams: [
      { payloader: 'pay0', fd: 3, caps: null, fragmenting: true },
      ...(klv.length === 0 ? [] : [{ payloader: 'pay1' as const, fd: 4, ...klvStream }]),
      ...(sound.length === 0
        ? []
        : [{ payloader: 'sound' as const, fd: klv.length === 0 ? 4 : 5, caps: null, ...(source.beeps && { sure: true as const }) }]),
    ],
    ...(source.transport && { transport: { passesVideo: encoding === null, program: facts.program } }),
    ...(sound.length > 0 && choice?.codec === 'copy' && { copiesSound: true }),
    publishes: true,
    // A decoder or encoder may be a hardware one.
    reach: encoding === null ? reach : { ...reach, devices: [...(reach.devices ?? []), ...codecDevices()] },
    confidential: kind.confidential && source.byHand === undefined,
    ...(source.syntheticKlv && { syntheticKlv: true }),
    shown: [...(source.byHand ?? source.tokens), ...rest].map(maskToken),
  }
}

/** The encoder of the launch line, null when it passes the video through. */
export const encoderOf = async ({ source, encoding }: SimpleConfig, settings: EngineSettings): Promise<Encoder | null> => {
  const { codec } = encoding ?? parseSource(source).kind.encoding ?? {}
  return codec === undefined ? null : chooseEncoder(codec, settings.encoder.preference, runToEnd)
}

const needsEncoding = (what: string): Fault =>
  new Fault('unsupported', `${what} Set encoding (for example {"codec":"h264"}) to have it re-encoded.`)

const passThrough = (source: SourceLine, facts: SourceFacts): LaunchTokens => {
  const codec = PASSED_THROUGH[facts.video ?? '']
  if (codec && source.form === 'rtp') return chain(element(`rtp${codec}depay`), payloader(codec, 'pay0'))
  if (source.ends === 'video') {
    if (codec && source.form === 'parsed') return payloader(codec, 'pay0')
    throw needsEncoding(source.form === 'raw' ? 'The source gives raw pictures.' : `The source gives ${facts.video ?? 'JPEG'} pictures.`)
  }
  return eitherCodec(facts)
}

const H26X = Object.values(PASSED_THROUGH)

/**
 * Whether it is H.264 or H.265 shows only in the data: `switchbin` uses the payloader of the codec that comes. (A branch for each
 * into a `funnel` would keep the end of the stream from the sink: the funnel waits for the end of the branch that never begins.)
 */
const eitherCodec = (facts: SourceFacts): LaunchTokens => {
  const paths = H26X.flatMap((codec, index) => [
    [`path${index}::caps`, `video/x-${codec}`],
    [`path${index}::element`, payloader(codec).join(' ')],
  ])
  return chain(
    padOf(TRACKS),
    element('capsfilter', { caps: H26X.map((codec) => `video/x-${codec}`).join(';') }),
    trackQueue(facts),
    element('switchbin', { 'num-paths': H26X.length, ...Object.fromEntries(paths) }),
  )
}

const encode = (source: SourceLine, facts: SourceFacts, encoding: Encoding, encoder: Encoder | null): LaunchTokens => {
  if (encoder === null) throw new Fault('missing_element', `No encoder for ${encoding.codec} was found on this host.`)
  const fps = encoding.fps ?? facts.frameRate
  const presumedRate = encoder.needsFrameRate === true && encoding.fps === undefined
  const options = {
    bitrate: encoding.bitrate,
    quality: encoding.quality,
    keyInterval: Math.max(1, Math.floor((fps ?? MIN_FRAME_RATE) * KEY_INTERVAL_SECONDS)),
    presumedRate,
  }
  return chain(
    decode(source, facts),
    // A thread of its own for the encoder. Live frames that come too fast for it are dropped, so that no delay builds up.
    element('queue', { 'max-size-buffers': 4, 'max-size-bytes': 0, 'max-size-time': 0, leaky: facts.paced ? undefined : 'downstream' }),
    ...(encoding.fps === undefined ? [] : [element('videorate'), [`video/x-raw,framerate=${frameRateFraction(encoding.fps)}`]]),
    element('videoconvert'),
    element('videoscale'),
    [
      // 4:2:0 in any case: x264enc would take 4:4:4 from raw sources, which hardly any player decodes.
      `video/x-raw,format=${encoder.pixelFormat}${encoding.width === undefined ? '' : `,width=${encoding.width},height=${encoding.height},pixel-aspect-ratio=1/1`}`,
    ],
    presumedRate ? presumeRate(fps ?? USUAL_FRAME_RATE) : [],
    encoder.tokens(options),
    payloader(encoding.codec, 'pay0'),
  )
}

/** Gives raw video without a frame rate, as of many cameras, the rate of `fps` pictures a second. Timestamps stay. */
const presumeRate = (fps: number): LaunchTokens =>
  element('switchbin', {
    'num-paths': 2,
    'path0::caps': 'video/x-raw,framerate=(fraction)0/1',
    'path0::element': element('capssetter', { caps: `video/x-raw,framerate=${frameRateFraction(fps)}` }).join(' '),
    'path1::caps': 'video/x-raw',
    'path1::element': 'identity',
  })

/** decodebin uses a hardware decoder where there is one that works. */
const decode = (source: SourceLine, facts: SourceFacts): LaunchTokens => {
  if (source.form === 'raw') return []
  if (source.form === 'rtp') return chain(DEPAYLOADERS[facts.video ?? ''] ?? ['application/x-rtp,media=video'], element('decodebin'))
  if (source.ends === 'video') return element('decodebin')
  return chain(padOf(TRACKS), element('capsfilter', { caps: ANY_VIDEO }), trackQueue(facts), element('decodebin'))
}

/** Name of the tee that carries the video of `pay0`, for its end. */
const VIDEO = 'video'

/** A KLV track that is silent or missing does not delay the video. `mayBeMissing`: then the end of the video ends its sink. */
const klvBranch = (source: SourceLine, facts: SourceFacts, mayBeMissing: boolean): LaunchTokens => {
  if (source.transport) return mpegtsBranch()
  const track = chain(
    padOf(TRACKS),
    ['meta/x-klv'],
    trackQueue(facts),
    element('rtpklvpay', payloaderProperties(MAX_CUT_BYTES, 'pay1', 97)),
  )
  return mayBeMissing ? endsWithVideo(track, 'klv', facts, 4) : chain(track, mediaSink(4, facts.paced))
}

/**
 * The child ends when each of its sinks got the end of the stream, and no end comes to the sink of a track that was never linked.
 * So the end of the video, without its packets, goes to the sink of the track: rtpfunnel passes on the first end that comes. It takes
 * RTP, of which it reads the caps alone, and passes no caps on: what comes to it has its own inside, and is called RTP.
 */
const endsWithVideo = (track: LaunchTokens, name: string, facts: SourceFacts, fd: number): LaunchTokens => [
  ...chain(track, framed(facts.paced), element('capssetter', { caps: 'application/x-rtp', replace: true, join: false })),
  '!',
  ...padOf(name),
  ...chain(padOf(VIDEO), element('valve', { drop: true, 'drop-mode': 'forward-sticky-events' }), trackQueue(facts)),
  '!',
  ...padOf(name),
  ...chain(element('rtpfunnel', { name }), pipeSink(fd)),
]

/** A beep of 100 ms each second. */
const beeps = (): LaunchTokens =>
  element('audiotestsrc', { 'is-live': true, wave: 'ticks', freq: 1000, 'tick-interval': 1_000_000_000, 'sine-periods-per-tick': 100 })

/** The sound of a source, as the KLV beside its video: silent or missing, it delays nothing. Empty when the source has none. */
const soundBranch = (source: SourceLine, facts: SourceFacts, choice: SoundChoice, fd: number): LaunchTokens => {
  // Raw sound has to be encoded.
  if (source.beeps) return chain(beeps(), encodeSound(choice.codec === 'copy' ? { codec: 'aac', kbps: 128 } : choice), mediaSink(fd))
  if (source.ends === 'video') return []
  const track = soundTrack(source.soundPad ?? padOf(TRACKS), { choice, queue: trackQueue(facts), isSound: source.soundPad !== undefined })
  return endsWithVideo(track, 'endofsound', facts, fd)
}

/** The engine extracts KLV from MPEG-TS itself: tsdemux has no pad for the synchronous kind. The queue drops what the engine does not read in time. */
const mpegtsBranch = (): LaunchTokens =>
  chain(
    padOf(TRANSPORT),
    element('queue', { 'max-size-buffers': 0, 'max-size-time': 0, 'max-size-bytes': 4 * 1024 * 1024, leaky: 'downstream' }),
    element('rtpmp2tpay', payloaderProperties(MAX_CUT_BYTES, undefined, 33)),
    mediaSink(4),
  )

/**
 * Dry run of a simple pipeline: checks what is known without contacting the source, and a camera against its modes if it is
 * attached. Returns the launch line, with H.264 presumed for an RTSP source. Throws VALIDATION_ERROR; Fault missing_element
 * without an encoder.
 */
export const checkSimple = async (config: SimpleConfig, settings: EngineSettings, host: SourceHost): Promise<CheckedLaunch> => {
  try {
    const { kind, parsed } = parseSource(config.source)
    const facts = await kind.presume(parsed, { ...host, reencode: config.encoding !== null })
    return {
      ...simpleLaunch(config, facts, await encoderOf(config, settings)),
      codecs: config.encoding === null ? [] : [config.encoding.codec],
    }
  } catch (error) {
    if (!(error instanceof Fault) || (error.reason !== 'unsupported' && error.reason !== 'permission')) throw error
    throw validationError('pipeline', [{ path: 'source.uri', message: redact(error.message) }])
  }
}
