import { frameRateOfSps } from '../codec/h264-sps.ts'
import type { Address } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { attribute, fmtp, isKlvName, rtpmap, type SdpMedia, type SessionDescription } from '../rtsp/protocol/sdp.ts'
import type { SourceFacts } from './source-kind.ts'

const encodingName = (media: SdpMedia): string | undefined => rtpmap(media)?.encodingName.toUpperCase()

const hasKlv = (media: SdpMedia): boolean => media.formats.some((format) => isKlvName(rtpmap(media, Number(format))?.encodingName))

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
export const factsOfSdp = (sdp: SessionDescription, address: Address): SourceFacts => {
  const video = sdp.media.find((media) => media.type === 'video' && encodingName(media) !== undefined)
  if (video === undefined) {
    if (sdp.media.some(({ type }) => type === 'video'))
      throw new Fault('unsupported', `${address.shown} does not say how its video is encoded (a=rtpmap of its session description).`)
    const has = sdp.media.map(({ type }) => type).filter((type) => /^[a-z]+$/.test(type))
    throw new Fault('unsupported', `${address.shown} has no video${has.length > 0 ? ` (only ${has.join(', ')})` : ''}.`)
  }
  const name = encodingName(video) ?? null
  return {
    video: name,
    // The tracks inside MPEG-TS are known only from its data.
    klv: name === 'MP2T' ? null : sdp.media.some(hasKlv),
    frameRate: frameRate(video),
    paced: false,
  }
}
