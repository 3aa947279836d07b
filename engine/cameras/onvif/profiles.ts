import type { CameraStream } from '../../../lib/schema/camera.ts'
import { plainText } from './plain-text.ts'
import { escapeXml, find, textAt, type XmlElement } from './xml.ts'

/** A version of the media service: its questions, and how its answers are read. */
export interface MediaService {
  readonly namespace: string
  readonly getProfiles: string
  readonly getStreamUri: (token: string) => string
  readonly uriOf: (answer: XmlElement) => string | undefined
  readonly describe: (profile: XmlElement) => Omit<CameraStream, 'name' | 'uri'>
}

const SCHEMA = 'http://www.onvif.org/ver10/schema'
const VER10 = 'http://www.onvif.org/ver10/media/wsdl'
const VER20 = 'http://www.onvif.org/ver20/media/wsdl'

/** ONVIF Media Service Specification, sections 5.2.3 and 5.10.1. */
export const MEDIA: MediaService = {
  namespace: VER10,
  getProfiles: `<GetProfiles xmlns="${VER10}"/>`,
  getStreamUri: (token) =>
    `<GetStreamUri xmlns="${VER10}"><StreamSetup><Stream xmlns="${SCHEMA}">RTP-Unicast</Stream>` +
    `<Transport xmlns="${SCHEMA}"><Protocol>RTSP</Protocol></Transport></StreamSetup>` +
    `<ProfileToken>${escapeXml(token)}</ProfileToken></GetStreamUri>`,
  uriOf: (answer) => textAt(answer, 'MediaUri', 'Uri'),
  describe: (profile) => describe(find(profile, 'VideoEncoderConfiguration'), find(profile, 'AudioEncoderConfiguration')),
}

/** ONVIF Media 2 Service Specification, sections 5.2 and 5.8.1. */
export const MEDIA2: MediaService = {
  namespace: VER20,
  getProfiles: `<GetProfiles xmlns="${VER20}"><Type>VideoEncoder</Type><Type>AudioEncoder</Type></GetProfiles>`,
  getStreamUri: (token) =>
    `<GetStreamUri xmlns="${VER20}"><Protocol>RTSP</Protocol><ProfileToken>${escapeXml(token)}</ProfileToken></GetStreamUri>`,
  uriOf: (answer) => textAt(answer, 'Uri'),
  describe: (profile) => describe(find(profile, 'Configurations', 'VideoEncoder'), find(profile, 'Configurations', 'AudioEncoder')),
}

const describe = (video: XmlElement | undefined, audio: XmlElement | undefined): Omit<CameraStream, 'name' | 'uri'> => ({
  codec: codecOf(video),
  width: numberAt(video, 'Resolution', 'Width'),
  height: numberAt(video, 'Resolution', 'Height'),
  fps: numberAt(video, 'RateControl', 'FrameRateLimit'),
  bitrate_kbps: numberAt(video, 'RateControl', 'BitrateLimit'),
  audio: codecOf(audio),
})

const codecOf = (encoder: XmlElement | undefined): string | null => plainText(textAt(encoder, 'Encoding'))?.toLowerCase() ?? null

const numberAt = (element: XmlElement | undefined, ...path: readonly string[]): number | null => {
  const number = Number(textAt(element, ...path) ?? Number.NaN)
  return Number.isFinite(number) && number > 0 && number < 1e9 ? number : null
}
