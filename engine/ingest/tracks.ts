import { isCarriedSound } from '../codec/audio/sound-codecs.ts'
import { Fault } from '../faults/fault.ts'
import { type RtpCaps, SOUND_PAYLOAD } from '../rtp/caps.ts'
import type { Described } from '../rtsp/client/describe-source.ts'
import { attribute, fmtp, isKlvName, rtpmap, type SdpMedia } from '../rtsp/protocol/sdp.ts'

/** A track of a source that the engine reads itself. */
export interface Track {
  readonly control: string | undefined
  /** RTP/AVPF announces feedback over RTCP (RFC 4585). */
  readonly profile: string
  /** RTP payload type in the packets of the source. */
  readonly payload: number
  /** Timestamps are rewritten to begin at 0 with the response to PLAY, so that tracks can be compared. */
  readonly caps: RtpCaps
}

export interface Tracks {
  readonly video: Track
  readonly klv: Track | undefined
  readonly sound: SoundTrack | undefined
}

interface Encoding {
  readonly codec: 'aac' | 'opus'
  readonly kbps: number
}

/** The sound of a source. */
export interface SoundTrack {
  /** Undefined when it cannot be carried. */
  readonly track: Track | undefined
  /** By the session description, in lower case. */
  readonly codec: string
  readonly rate: number | null
  readonly channels: number | null
  /** It is to be encoded. */
  readonly encoding: Encoding | undefined
  /** How many tracks of sound there are; the first is taken. */
  readonly found: number
}

/** Payload type of KLV in our outputs, as in the launch lines. */
const KLV_PAYLOAD = 97
/** Media attributes that are passed on to readers: they describe the picture, not its transport. */
const PICTURE_ATTRIBUTES = ['framerate', 'framesize', 'x-framerate', 'x-dimensions', 'cliprect']

interface Wanted {
  /** The video is re-encoded, not passed through. */
  readonly reencode: boolean
  /** Undefined: none; copy: what can be carried; else it is encoded, unless it is in that codec and `isExact` is left out. */
  readonly sound: { readonly codec: 'copy' } | (Encoding & { readonly isExact?: boolean }) | undefined
}

/** The tracks of a session description. Fault unsupported when the video cannot be passed through or re-encoded. */
export const tracksOf = ({ sdp, address }: Pick<Described, 'sdp' | 'address'>, { reencode, sound }: Wanted): Tracks => {
  const media = sdp.media.find((each) => each.type === 'video' && rtpmap(each) !== undefined)
  const unsupported = (what: string): Fault => new Fault('unsupported', `${address.shown} ${what}.`)
  if (media === undefined || !isPlainRtp(media))
    throw unsupported('encrypts its RTP. Let it send plain RTP, with rtsps:// if nobody may see it, or use rtspsrc in an advanced pipeline')
  if (!reencode && isInterleaved(media)) throw unsupported('sends NAL units out of their order. Set encoding to have it re-encoded')
  const video = videoTrack(media)
  if (video === undefined) throw unsupported('describes its video without a valid payload type and clock rate')
  // MPEG-TS has its KLV and its sound inside.
  if (video.caps.encodingName === 'MP2T') return { video, klv: undefined, sound: undefined }
  const klv = sdp.media.flatMap((each) => klvTrack(each) ?? [])[0]
  return { video, klv, sound: sound && soundTrack(sdp.media, sound) }
}

/** RFC 6184 section 5.4, RFC 7798 section 7.1. */
const isInterleaved = (media: SdpMedia): boolean => {
  const parameters = fmtp(media)
  return parameters.get('packetization-mode') === '2' || Number(parameters.get('sprop-max-don-diff') ?? 0) > 0
}

const videoTrack = (media: SdpMedia): Track | undefined => {
  const payload = Number(media.formats[0])
  const encoding = rtpmap(media)
  if (encoding === undefined || !isPayload(payload)) return undefined
  const encodingName = encoding.encodingName.toUpperCase()
  if (encoding.clockRate < 1 || encoding.clockRate > 1_000_000_000) return undefined
  const caps: RtpCaps = {
    media: 'video',
    encodingName,
    payload,
    clockRate: encoding.clockRate,
    parameters: new Map([
      ...formatParameters(media),
      // Packets that are too large become fragments, which mode 0 does not have (RFC 6184 section 6).
      ...(encodingName === 'H264' ? [['packetization-mode', '1'] as const] : []),
      ...PICTURE_ATTRIBUTES.flatMap((name) => {
        const value = attribute(media, name)
        return value === undefined ? [] : [[`a-${name}`, value] as const]
      }),
      ['timestamp-offset', '0'],
    ]),
  }
  return { control: attribute(media, 'control'), profile: profileOf(media), payload, caps }
}

const klvTrack = (media: SdpMedia): Track | undefined => {
  const payload = media.formats.map(Number).find((format) => isKlvName(rtpmap(media, format)?.encodingName))
  if (payload === undefined || !isPayload(payload) || !isPlainRtp(media)) return undefined
  const clockRate = rtpmap(media, payload)?.clockRate ?? 0
  if (clockRate < 1) return undefined
  const caps: RtpCaps = {
    media: 'application',
    encodingName: 'SMPTE336M',
    payload: KLV_PAYLOAD,
    clockRate,
    parameters: new Map([['timestamp-offset', '0']]),
  }
  return { control: attribute(media, 'control'), profile: profileOf(media), payload, caps }
}

/** The first track of sound that is carried, else what the first one is. */
const soundTrack = (all: readonly SdpMedia[], wanted: NonNullable<Wanted['sound']>): SoundTrack | undefined => {
  // A port of 0 is an offer without that media (RFC 8866 section 5.14), but not in RTSP.
  const media = all.filter((each) => each.type === 'audio' && isPlainRtp(each) && rtpmap(each) !== undefined)
  const [first] = media
  const nameOf = (each: SdpMedia): string => rtpmap(each)?.encodingName.toUpperCase() ?? ''
  const carried = wanted.codec === 'copy' ? media.find((each) => isCarriedSound(nameOf(each))) : first
  const chosen = carried ?? first
  if (chosen === undefined) return undefined
  const { encodingName, clockRate, channels } = rtpmap(chosen) ?? { encodingName: '', clockRate: 0, channels: undefined }
  const track = carried && carriedSound(carried)
  const isEncoded = wanted.codec !== 'copy' && (wanted.isExact === true || CODEC_NAMES[nameOf(chosen)] !== wanted.codec)
  const encoding = isEncoded ? { codec: wanted.codec, kbps: wanted.kbps } : undefined
  return { track, encoding, codec: encodingName.toLowerCase(), rate: clockRate || null, channels: channels ?? null, found: media.length }
}

/** Encoding names of the codecs that sound is encoded to. */
const CODEC_NAMES: Readonly<Record<string, string>> = { 'MPEG4-GENERIC': 'aac', OPUS: 'opus' }

const carriedSound = (media: SdpMedia): Track | undefined => {
  const payload = Number(media.formats[0])
  const encoding = rtpmap(media)
  if (encoding === undefined || !isPayload(payload) || encoding.clockRate < 1 || encoding.clockRate > 1_000_000) return undefined
  const caps: RtpCaps = {
    media: 'audio',
    encodingName: encoding.encodingName.toUpperCase(),
    payload: payload < FIRST_DYNAMIC ? payload : SOUND_PAYLOAD,
    clockRate: encoding.clockRate,
    parameters: new Map([
      ...formatParameters(media),
      ...(encoding.channels === undefined ? [] : [['encoding-params', String(encoding.channels)] as const]),
      ['timestamp-offset', '0'],
    ]),
  }
  return { control: attribute(media, 'control'), profile: profileOf(media), payload, caps }
}

/** Payload types from here on have no fixed codec (RFC 3551 section 3). */
const FIRST_DYNAMIC = 96

const formatParameters = (media: SdpMedia): readonly (readonly [string, string])[] =>
  [...fmtp(media)].filter(([name, value]) => /^(?!a-|x-|extmap-)[a-z0-9_-]{1,64}$/.test(name) && value.length <= 8192)

/** Not encrypted. Some servers add the transport, which SETUP negotiates. */
const isPlainRtp = ({ protocol }: SdpMedia): boolean => /^RTP\/AVPF?(?:\/(?:TCP|UDP))?$/i.test(protocol)

const isPayload = (payload: number): boolean => Number.isInteger(payload) && payload >= 0 && payload <= 127

const profileOf = ({ protocol }: SdpMedia): string => (/^RTP\/AVPF/i.test(protocol) ? 'RTP/AVPF' : 'RTP/AVP')
