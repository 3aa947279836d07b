import type { VideoConfig } from '../../../../lib/video-records.ts'

/** How a browser shows a stream, the best first. */
export type Way = 'decoder' | 'webrtc' | 'media-source' | 'pictures'

export interface Choice {
  readonly way: Way
  /** Why no better way is possible. */
  readonly why: string
}

/** The best way that works in this browser for this stream. */
export const chooseWay = async (config: VideoConfig): Promise<Choice> => {
  const why = await whyNoDecoder(config)
  if (why === undefined) return { way: 'decoder', why: '' }
  if (isH265(config)) return { way: 'pictures', why: 'this browser does not decode H.265' }
  if (!canMediaSource(config)) return { way: 'pictures', why: `${why}, nor does it play this stream by Media Source` }
  return { way: 'media-source', why }
}

const isH265 = ({ codec }: VideoConfig): boolean => /^(hev1|hvc1)/.test(codec)

/** Why this page has no decoder for any stream; undefined where it has some. */
export const whyNoDecoders = (): string | undefined => {
  if (typeof VideoDecoder !== 'undefined') return undefined
  return isSecureContext
    ? 'this browser does not have WebCodecs'
    : 'browsers decode at once only over https, or on the host itself at localhost'
}

/** Whether a page should try WebRTC: where it has no decoder, which is faster still. */
export const triesWebRtc = (): boolean => whyNoDecoders() !== undefined && typeof RTCPeerConnection !== 'undefined'

const whyNoDecoder = async (config: VideoConfig): Promise<string | undefined> => {
  const whyNone = whyNoDecoders()
  if (whyNone !== undefined) return whyNone
  const { supported } = await VideoDecoder.isConfigSupported({ ...config, optimizeForLatency: true }).catch(() => ({ supported: false }))
  return supported === true ? undefined : `this browser does not decode H.264 (${config.codec})`
}

const canMediaSource = ({ codec }: VideoConfig): boolean =>
  codec.startsWith('avc1') && typeof MediaSource !== 'undefined' && MediaSource.isTypeSupported(`video/mp4; codecs="${codec}"`)

export const WAY_WORDS: Readonly<Record<Way, string>> = {
  decoder: 'Decoded at once (WebCodecs)',
  webrtc: 'Played by WebRTC',
  'media-source': 'Played with a short buffer (Media Source)',
  pictures: 'One picture a second',
}
