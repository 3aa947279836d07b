import { ApiError } from '../../lib/errors.ts'
import { CODECS } from '../codec/codecs.ts'
import type { RtpCaps } from '../rtp/caps.ts'
import { keepsOrder } from '../rtp/repair/keeps-order.ts'
import { isBidirectional } from '../rtp/repair/slices.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { Offer, OfferedCodec, OfferedMedia } from './offer.ts'

/** A section of the offer that is accepted, with the codec of its packets. */
export interface Chosen {
  readonly media: OfferedMedia
  readonly codec: OfferedCodec
}

/** The first section that takes the video. NOT_ACCEPTABLE says what the offer would need. */
export const chooseVideo = (offer: Offer, caps: RtpCaps): Chosen => {
  const sections = offer.media.filter(({ kind, receives }) => kind === 'video' && receives)
  if (sections.length === 0) throw notAcceptable('no_video', 'The offer takes no video. Offer a section of video that is recvonly.')
  for (const media of sections) {
    const codec = VIDEO[caps.encodingName]?.(media.codecs, caps)
    if (codec !== undefined) return { media, codec }
  }
  const { encodingName } = caps
  throw wrongCodec(
    encodingName,
    sections.some(({ codecs }) => codecs.some(({ name }) => name === encodingName)),
  )
}

/** The first section that takes the sound; undefined when none does: the video goes without it. */
export const chooseSound = (offer: Offer, caps: RtpCaps): Chosen | undefined => {
  const channels = caps.encodingName === 'OPUS' ? 2 : Number(caps.parameters.get('encoding-params') ?? 1)
  if (!SOUND.has(caps.encodingName)) return undefined
  const takes = ({ name, clockRate, channels: offered }: OfferedCodec): boolean =>
    name === caps.encodingName && clockRate === caps.clockRate && offered === channels
  for (const media of offer.media) {
    const codec = media.kind === 'audio' && media.receives ? media.codecs.find(takes) : undefined
    if (codec !== undefined) return { media, codec }
  }
  return undefined
}

/** The section for data channels. */
export const chooseData = ({ media }: Offer): OfferedMedia | undefined =>
  media.find(({ kind, protocol, receives }) => kind === 'application' && receives && protocol.endsWith('DTLS/SCTP'))

const SOUND: ReadonlySet<string> = new Set(['OPUS', 'PCMU', 'PCMA'])

type ChooseCodec = (codecs: readonly OfferedCodec[], caps: RtpCaps) => OfferedCodec | undefined

/** Profiles by what they decode: each also what comes before it. Others need a decoder of their own. */
const H264_PROFILES: readonly number[] = [66, 77, 88, 100]
/** profile_idc of profile-level-id; without one it is Baseline (RFC 6184 section 8.1). */
const offeredProfile = ({ parameters }: OfferedCodec): number =>
  Number.parseInt((parameters.get('profile-level-id') ?? '42').slice(0, 2), 16)

/**
 * With packetization-mode 1, since packets carry fragments; players of GStreamer state no mode, and take them. The profile as it is or the next above it, else the highest: decoders take
 * more than browsers offer. What no browser decodes, such as 4:2:2, needs its own profile.
 */
const chooseH264: ChooseCodec = (codecs, caps) => {
  const ofMode = (mode: string | undefined) =>
    codecs.filter(({ name, parameters }) => name === 'H264' && parameters.get('packetization-mode') === mode)
  const usable = [...ofMode('1'), ...ofMode(undefined)]
  const profile = profileOf(caps)
  if (profile === undefined) return usable[0]
  const exact = usable.find((codec) => offeredProfile(codec) === profile)
  if (exact !== undefined || !H264_PROFILES.includes(profile)) return exact
  const ranked = usable
    .filter((codec) => H264_PROFILES.includes(offeredProfile(codec)))
    .sort((one, other) => offeredProfile(one) - offeredProfile(other))
  return ranked.find((codec) => offeredProfile(codec) > profile) ?? ranked.at(-1)
}

/** A profile of H.265 decodes those with a smaller number, of Main and Main 10. */
const MAIN_10 = 2

const chooseH265: ChooseCodec = (codecs, caps) => {
  const profile = profileOf(caps) ?? 1
  const offered = ({ parameters }: OfferedCodec): number => Number(parameters.get('profile-id') ?? 1)
  return codecs
    .filter((codec) => codec.name === 'H265' && (offered(codec) === profile || (profile < MAIN_10 && offered(codec) === MAIN_10)))
    .sort((one, other) => offered(one) - offered(other))[0]
}

const VIDEO: Readonly<Record<string, ChooseCodec>> = { H264: chooseH264, H265: chooseH265 }

/** The profile number of the sequence parameter set in the caps: profile_idc, or general_profile_idc. */
const profileOf = ({ encodingName, parameters }: RtpCaps): number | undefined => {
  const codec = CODECS.get(encodingName)
  const sets = (codec?.capsFields ?? [])
    .flatMap((name) => (parameters.get(name) ?? '').split(','))
    .map((text) => Buffer.from(text, 'base64'))
  const config = sets.flatMap((set) => (codec?.isSps(set) === true ? (codec.configOf(set) ?? []) : []))[0]?.codec
  if (config === undefined) return undefined
  const [, profile = ''] = config.split('.')
  return encodingName === 'H264' ? Number.parseInt(profile.slice(0, 2), 16) : Number.parseInt(profile.replace(/^[A-C]/, ''), 10)
}

const wrongCodec = (name: string, isOffered: boolean): ApiError => notAcceptable('codec', wrongCodecText(name, isOffered))

const wrongCodecText = (name: string, isOffered: boolean): string => {
  if (name === 'H265')
    return 'The video is H.265, which the offer does not take. Use a player that offers H265, or set encoding.codec of the pipeline to "h264".'
  return isOffered
    ? 'The video is H.264, which the offer does not take in its profile. Offer H264 with packetization-mode=1, or set encoding.codec of the pipeline to "h264", which encodes it for every browser.'
    : 'The video is H.264, which the offer does not take. Use a player that offers H264; Firefox does once it has fetched its OpenH264 plugin.'
}

/** 406. */
const notAcceptable = (reason: string, message: string): ApiError => new ApiError('NOT_ACCEPTABLE', message, { reason })

/** Throws NOT_ACCEPTABLE for a stream with B-frames, as far as it shows. `reordered`: how many pictures came late so far. */
export const requireOrder = (stream: Pick<RtpStream, 'caps' | 'gop'>, reordered: number | undefined): void => {
  const { caps, gop } = stream
  if (caps === undefined || reordered === 0) return
  const isReordered =
    (reordered ?? 0) > 0 || (!keepsOrder(caps.encodingName, caps.parameters) && showsReordering(caps.encodingName, gop?.units ?? []))
  if (isReordered) {
    throw notAcceptable(
      'b_frames',
      'The video has B-frames, which players by WebRTC do not take. Turn them off in the camera, or set encoding of the pipeline, such as { "codec": "h264" }, which encodes without them.',
    )
  }
}

const showsReordering = (encodingName: string, units: NonNullable<RtpStream['gop']>['units']): boolean =>
  units.some(
    (unit, at) => unit.mediaMs < (units[at - 1]?.mediaMs ?? Number.NEGATIVE_INFINITY) || isBidirectional(encodingName, unit.payloads()),
  )
