import type { RtpCaps } from '../rtp/caps.ts'
import { attribute, fmtp, isKlvName, rtpmap, type SdpMedia, type SessionDescription } from '../rtsp/protocol/sdp.ts'

/** A track of a source that the engine reads itself. */
export interface Track {
  readonly control: string | undefined
  /** RTP payload type in the packets of the source. */
  readonly payload: number
  /** Timestamps are rewritten to begin at 0 with the response to PLAY, so that tracks can be compared. */
  readonly caps: RtpCaps
}

export interface Tracks {
  readonly video: Track
  readonly klv: Track | undefined
}

/** Payload type of KLV in our outputs, as in the launch lines. */
const KLV_PAYLOAD = 97
/** Media attributes that are passed on to readers: they describe the picture, not its transport. */
const PICTURE_ATTRIBUTES = ['framerate', 'framesize', 'x-framerate', 'x-dimensions', 'cliprect']

/**
 * The video and the KLV track of a session description; undefined when a child has to read it: encrypted, MPEG-TS, or NAL units that are
 * out of order (interleaved mode).
 */
export const tracksOf = (sdp: SessionDescription): Tracks | undefined => {
  const video = sdp.media.find((media) => media.type === 'video' && rtpmap(media) !== undefined)
  const klv = sdp.media.flatMap((media) => klvTrack(media) ?? [])[0]
  const track = video === undefined ? undefined : videoTrack(video)
  return track === undefined ? undefined : { video: track, klv }
}

const videoTrack = (media: SdpMedia): Track | undefined => {
  const payload = Number(media.formats[0])
  const encoding = rtpmap(media)
  const parameters = fmtp(media)
  if (!isPlainRtp(media) || encoding === undefined || !isPayload(payload)) return undefined
  const encodingName = encoding.encodingName.toUpperCase()
  const isInterleaved = parameters.get('packetization-mode') === '2' || Number(parameters.get('sprop-max-don-diff') ?? 0) > 0
  if (encodingName === 'MP2T' || isInterleaved || encoding.clockRate < 1 || encoding.clockRate > 1_000_000_000) return undefined
  const caps: RtpCaps = {
    media: 'video',
    encodingName,
    payload,
    clockRate: encoding.clockRate,
    parameters: new Map([
      ...[...parameters].filter(([name, value]) => /^(?!a-|x-|extmap-)[a-z0-9_-]{1,64}$/.test(name) && value.length <= 8192),
      // Packets that are too large become fragments, which mode 0 does not have (RFC 6184 section 6).
      ...(encodingName === 'H264' ? [['packetization-mode', '1'] as const] : []),
      ...PICTURE_ATTRIBUTES.flatMap((name) => {
        const value = attribute(media, name)
        return value === undefined ? [] : [[`a-${name}`, value] as const]
      }),
      ['timestamp-offset', '0'],
    ]),
  }
  return { control: attribute(media, 'control'), payload, caps }
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
  return { control: attribute(media, 'control'), payload, caps }
}

/** Not encrypted. Some servers add the transport, which SETUP negotiates; rtspsrc refuses their media. */
const isPlainRtp = ({ protocol }: SdpMedia): boolean => /^RTP\/AVP(?:\/(?:TCP|UDP))?$/i.test(protocol)

const isPayload = (payload: number): boolean => Number.isInteger(payload) && payload >= 0 && payload <= 127
