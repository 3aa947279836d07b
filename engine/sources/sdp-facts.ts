import { frameRateOfSps } from '../codec/h264-sps.ts'
import type { Address } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { attribute, fmtp, isKlvName, rtpmap, type SdpMedia, type SessionDescription } from '../rtsp/protocol/sdp.ts'
import type { SourceFacts } from './source-kind.ts'

export interface RtspFacts extends SourceFacts {
  /** How RTSP carries the media. */
  readonly transport: 'tcp' | 'udp'
  /** The transport protocol of the video in the session description where that is one that rtspsrc does not take (RTP/AVP/TCP). */
  readonly oddProtocol?: string
  /** Where redirects led, of a source with credentials: rtspsrc would send them wherever a redirect leads. */
  readonly redirectedTo?: Address
}

const encodingName = (media: SdpMedia): string | undefined => rtpmap(media)?.encodingName.toUpperCase()

/** SETUP negotiates the transport; some servers name it in the media line as well. */
const NAMES_TRANSPORT = /^RTP\/AVP\/(?:TCP|UDP)$/i

const klvName = (media: SdpMedia): string | undefined =>
  media.formats.map((format) => rtpmap(media, Number(format))?.encodingName.toUpperCase()).find(isKlvName)

const plausible = (text: string | undefined): number | null => {
  const rate = Number(text)
  return text !== undefined && rate >= 1 && rate <= 240 ? rate : null
}

const spsFrameRate = (media: SdpMedia): number | null => {
  const sets = fmtp(media).get('sprop-parameter-sets')?.slice(0, 4096).split(',') ?? []
  return sets.map((set) => frameRateOfSps(Buffer.from(set, 'base64'))).find((rate) => rate !== null) ?? null
}

const frameRate = (media: SdpMedia): number | null =>
  plausible(attribute(media, 'framerate')) ??
  plausible(attribute(media, 'x-framerate')) ??
  (encodingName(media) === 'H264' ? spsFrameRate(media) : null)

/** The video and the KLV track of a session description. Fault unsupported when there is no video. */
export const factsOfSdp = (sdp: SessionDescription, address: Address, transport: RtspFacts['transport']): RtspFacts => {
  const video = sdp.media.find((media) => media.type === 'video' && encodingName(media) !== undefined)
  if (video === undefined) {
    if (sdp.media.some(({ type }) => type === 'video'))
      throw new Fault('unsupported', `${address.shown} does not say how its video is encoded (a=rtpmap of its session description).`)
    const has = sdp.media.map(({ type }) => type).filter((type) => /^[a-z]+$/.test(type))
    throw new Fault('unsupported', `${address.shown} has no video${has.length > 0 ? ` (only ${has.join(', ')})` : ''}.`)
  }
  const name = encodingName(video) ?? null
  const klv = sdp.media.map(klvName).find((known) => known !== undefined)
  return {
    video: name,
    // The tracks inside MPEG-TS are known only from its data.
    klv: klv !== undefined ? true : name === 'MP2T' ? null : false,
    ...(klv === 'SMTPE336M' && { klvName: klv }),
    frameRate: frameRate(video),
    transport,
    ...(NAMES_TRANSPORT.test(video.protocol) && { oddProtocol: video.protocol }),
    paced: false,
  }
}
