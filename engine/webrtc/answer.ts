import type { Chosen } from './choose-codecs.ts'
import type { Offer, OfferedMedia } from './offer.ts'
import type { LocalPeer } from './peer.ts'

/** An accepted section of media, and what its packets carry. */
interface AnsweredMedia extends Chosen {
  readonly ssrc: number
}

interface AnswerParts {
  readonly sessionId: string
  readonly video: AnsweredMedia
  readonly sound: AnsweredMedia | undefined
  readonly data: OfferedMedia | undefined
  readonly local: LocalPeer
  /** In place of those of the peer. */
  readonly candidates: readonly string[]
}

/** Sets the least and the greatest delay that a player adds. */
export const PLAYOUT_DELAY = 'http://www.webrtc.org/experiments/rtp-hdrext/playout-delay'
/** What the packets and their resending need. */
const FEEDBACK = ['nack', 'nack pli', 'goog-remb'] as const
const CNAME = 'video-pipeline-service'

/** The SDP of an answer (RFC 8829 section 5.3.1): one section for each of the offer, in its order. */
export const formatAnswer = (offer: Offer, parts: AnswerParts): string => {
  const { video, sound, data, sessionId } = parts
  const accepted = [video.media, sound?.media, data].filter((media) => media !== undefined)
  const sections = offer.media.map((media) => {
    if (media === video.media) return mediaLines(video, parts)
    if (media === sound?.media) return mediaLines(sound, parts)
    return media === data ? dataLines(media, parts) : refusedLines(media)
  })
  const bundled = accepted.map(({ mid }) => mid)
  const group = offer.bundle.length === 0 ? [] : [`a=group:BUNDLE ${offer.bundle.filter((mid) => bundled.includes(mid)).join(' ')}`]
  const session = ['v=0', `o=- ${sessionId} 1 IN IP4 127.0.0.1`, 's=-', 't=0 0', ...group, 'a=msid-semantic: WMS *']
  return `${[...session, ...sections.flat()].join('\r\n')}\r\n`
}

/** Whether a section has the transport of the first accepted one: no other is opened. */
export const sharesTransport = ({ bundle }: Offer, media: OfferedMedia | undefined, first: OfferedMedia): boolean =>
  media !== undefined && (media === first || (bundle.includes(media.mid) && bundle.includes(first.mid)))

const mediaLines = ({ media, codec, ssrc }: AnsweredMedia, parts: AnswerParts): readonly string[] => {
  const { payload, fmtp, feedback, channels } = codec
  const delay = media.kind === 'video' ? media.extensions.get(PLAYOUT_DELAY) : undefined
  const rtpmap = `${payload} ${NAMES[codec.name] ?? codec.name}/${codec.clockRate}${channels > 1 ? `/${channels}` : ''}`
  return [
    `m=${media.kind} 9 ${media.protocol} ${payload}`,
    ...transportLines(media, parts),
    'a=sendonly',
    'a=rtcp-mux',
    'a=rtcp-rsize',
    `a=rtpmap:${rtpmap}`,
    ...(fmtp === undefined ? [] : [`a=fmtp:${payload} ${fmtp}`]),
    ...FEEDBACK.filter((name) => feedback.has(name)).map((name) => `a=rtcp-fb:${payload} ${name}`),
    ...(delay === undefined || parts.sound !== undefined ? [] : [`a=extmap:${delay} ${PLAYOUT_DELAY}`]),
    // One stream, so that players show pictures and sound together.
    `a=msid:pipeline ${media.kind}`,
    `a=ssrc:${ssrc} cname:${CNAME}`,
    `a=ssrc:${ssrc} msid:pipeline ${media.kind}`,
  ]
}

/** As registered: some players compare them literally. */
const NAMES: Readonly<Record<string, string>> = { OPUS: 'opus' }

const dataLines = (media: OfferedMedia, parts: AnswerParts): readonly string[] => [
  `m=application 9 ${media.protocol} ${media.formats.join(' ')}`,
  ...transportLines(media, parts),
  'a=sctp-port:5000',
  'a=max-message-size:16384',
]

/** RFC 3264 section 6. */
const refusedLines = (media: OfferedMedia): readonly string[] => [
  `m=${media.kind} 0 ${media.protocol} ${media.formats.join(' ')}`,
  'c=IN IP4 0.0.0.0',
  `a=mid:${media.mid}`,
  'a=inactive',
]

const transportLines = ({ mid }: OfferedMedia, { local, candidates }: AnswerParts): readonly string[] => [
  'c=IN IP4 0.0.0.0',
  'a=rtcp:9 IN IP4 0.0.0.0',
  `a=ice-ufrag:${local.ufrag}`,
  `a=ice-pwd:${local.password}`,
  `a=fingerprint:${local.fingerprint}`,
  `a=setup:${local.setup}`,
  `a=mid:${mid}`,
  ...candidates.map((candidate) => `a=candidate:${candidate}`),
  'a=end-of-candidates',
]
