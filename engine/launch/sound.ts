import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import { chain, element, type LaunchTokens } from '../gst/element.ts'
import { SOUND_PAYLOAD } from '../rtp/caps.ts'
import { MAX_CUT_BYTES } from '../rtp/fragment.ts'

/** What becomes of sound in a launch line; undefined: it has none. */
export type SoundChoice = { readonly codec: 'copy' } | { readonly codec: 'aac' | 'opus'; readonly kbps: number }

const USUAL_KBPS = { aac: 128, opus: 64 } as const

export const soundChoice = ({ audio, audio_bitrate }: Pick<PipelineConfig, 'audio' | 'audio_bitrate'>): SoundChoice | undefined => {
  if (audio === 'off') return undefined
  return audio === 'copy' ? { codec: 'copy' } : { codec: audio, kbps: audio_bitrate ?? USUAL_KBPS[audio] }
}

const timing = { mtu: MAX_CUT_BYTES, 'timestamp-offset': 0, 'seqnum-offset': 0 } as const

const payloaders = {
  aac: chain(element('aacparse'), element('rtpmp4gpay', { pt: SOUND_PAYLOAD, ...timing })),
  mpa: chain(element('mpegaudioparse'), element('rtpmpapay', timing)),
  opus: chain(element('opusparse'), element('rtpopuspay', { pt: SOUND_PAYLOAD, ...timing })),
  pcma: element('rtppcmapay', timing),
  pcmu: element('rtppcmupay', timing),
} as const

/** Caps of a demuxer → payloader. AAC in LOAS has no raw form in GStreamer. */
const CARRIED: readonly (readonly [string, LaunchTokens])[] = [
  ['audio/mpeg,mpegversion=(int){2,4},stream-format=(string){raw,adts}', payloaders.aac],
  ['audio/mpeg,mpegversion=(int)1', payloaders.mpa],
  ['audio/x-opus', payloaders.opus],
  ['audio/x-alaw', payloaders.pcma],
  ['audio/x-mulaw', payloaders.pcmu],
]

const CARRIED_TYPES = ['audio/mpeg', 'audio/x-opus', 'audio/x-alaw', 'audio/x-mulaw'] as const
const ANY_SOUND = [
  ...CARRIED_TYPES,
  'audio/x-ac3',
  'audio/x-eac3',
  'audio/x-dts',
  'audio/x-vorbis',
  'audio/x-flac',
  'audio/x-speex',
  'audio/x-raw',
]

/** Whether sound of these caps is carried as it is. */
export const isCarriedType = (type: string): boolean => CARRIED_TYPES.some((carried) => carried === type)

/** The payloader of whatever comes, by its caps; what cannot be carried goes into a closed valve. */
const whateverComes = (): LaunchTokens => {
  const paths = [...CARRIED, ['ANY', element('valve', { drop: true })] as const].flatMap(([caps, tokens], index) => [
    [`path${index}::caps`, caps],
    [`path${index}::element`, tokens.join(' ')],
  ])
  return element('switchbin', { 'num-paths': CARRIED.length + 1, ...Object.fromEntries(paths) })
}

/** Cheaper than decodebin, by a tenth of decoding and encoding, and what most cameras send. */
const DECODERS: Readonly<Record<string, LaunchTokens>> = {
  PCMA: chain(element('rtppcmadepay'), element('alawdec')),
  PCMU: chain(element('rtppcmudepay'), element('mulawdec')),
}

/** Decodes the RTP of a sound with this encoding name. */
export const decodeSound = (encodingName: string): LaunchTokens => DECODERS[encodingName] ?? element('decodebin')

const ENCODERS = {
  aac: (kbps: number) => chain(element('avenc_aac', { bitrate: kbps * 1000, 'aac-coder': 'fast' }), payloaders.aac),
  opus: (kbps: number) => chain(element('opusenc', { bitrate: kbps * 1000 }), payloaders.opus),
} as const

/** Encodes raw sound; at 48 kHz, which both codecs and every decoder take. */
export const encodeSound = ({ codec, kbps }: { readonly codec: 'aac' | 'opus'; readonly kbps: number }): LaunchTokens =>
  chain(element('audioconvert'), element('audioresample'), ['audio/x-raw,rate=48000,channels=[1,2]'], ENCODERS[codec](kbps))

interface Branch {
  readonly choice: SoundChoice
  /** The thread of a track, if it needs one. */
  readonly queue: LaunchTokens
  /** The pad gives sound alone; else its caps say so. */
  readonly isSound: boolean
}

/** From a pad of a demuxer to the RTP of its sound. */
export const soundTrack = (pad: LaunchTokens, { choice, queue, isSound }: Branch): LaunchTokens => {
  const types = choice.codec === 'copy' ? CARRIED_TYPES : ANY_SOUND
  const filter = isSound ? [] : element('capsfilter', { caps: types.join(';') })
  const rest = choice.codec === 'copy' ? whateverComes() : chain(element('decodebin'), encodeSound(choice))
  return chain(pad, filter, queue, rest)
}
