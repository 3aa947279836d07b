import { readProbeMatches } from '../../../engine/cameras/onvif/probe.ts'
import { MEDIA, MEDIA2 } from '../../../engine/cameras/onvif/profiles.ts'
import { all, find, parseXml, XmlFault } from '../../../engine/cameras/onvif/xml.ts'
import { parseAddress } from '../../../engine/faults/address.ts'
import { Fault } from '../../../engine/faults/fault.ts'
import { parsePlaylist } from '../../../engine/hls/playlist.ts'
import { chooseVariant, dueSegments, reloadSeconds } from '../../../engine/hls/schedule.ts'
import { TransportTimes } from '../../../engine/hls/transport-times.ts'
import { TransportMedia } from '../../../engine/ingest/demux/transport-media.ts'
import { tracksOf } from '../../../engine/ingest/tracks.ts'
import { footprintFeature } from '../../../engine/klv/footprint/feature.ts'
import { footprintOf } from '../../../engine/klv/footprint/footprint.ts'
import { MpegTsInput } from '../../../engine/klv/mpegts-input.ts'
import { parseRtpCaps, type RtpCaps } from '../../../engine/rtp/caps.ts'
import { createMediaStreams } from '../../../engine/rtp/media-streams.ts'
import { Authorizer } from '../../../engine/rtsp/client/authorizer.ts'
import { parseAuthentication } from '../../../engine/rtsp/protocol/authentication.ts'
import { parseMethods, parseRtpInfo, parseSession } from '../../../engine/rtsp/protocol/header-fields.ts'
import { MessageParser, RtspProtocolError } from '../../../engine/rtsp/protocol/message-parser.ts'
import { parseSdp, SdpError } from '../../../engine/rtsp/protocol/sdp.ts'
import { parseChannels, parseServerPorts, parseTransport } from '../../../engine/rtsp/protocol/transport.ts'
import { factsOfSdp } from '../../../engine/sources/sdp-facts.ts'
import { formatAnswer } from '../../../engine/webrtc/answer.ts'
import { chooseData, chooseVideo } from '../../../engine/webrtc/choose-codecs.ts'
import { parseFeedback } from '../../../engine/webrtc/feedback.ts'
import { fragmentCandidates, parseOffer } from '../../../engine/webrtc/offer.ts'
import { maskSecretsOf } from '../../../lib/credentials/secrets.ts'
import { ApiError } from '../../../lib/errors.ts'
import { geolocationOf } from '../../../lib/st0601/geolocation.ts'
import { klvFeature, klvPacketJson } from '../../../lib/st0601/json.ts'
import { checksum, decodePacket } from '../../../lib/st0601/packet.ts'
import { KlvStreamParser } from '../../../lib/st0601/stream-parser.ts'
import { atOnce } from '../at-once.ts'
import type { FuzzTarget } from './fuzz.ts'

const PASSWORD = 'pass\\word\\"1'
const address = parseAddress('rtsp://camera/s')
const mask = maskSecretsOf({
  mode: 'simple',
  source: { uri: `rtsp://user:${encodeURIComponent(PASSWORD)}@camera/s` },
} as Parameters<typeof maskSecretsOf>[0])

/** Runs what may throw these errors, and no others. */
const unless = (expected: readonly (new (...args: never[]) => Error)[], work: () => void): void => {
  try {
    work()
  } catch (error) {
    if (!expected.some((kind) => error instanceof kind)) throw error
  }
}

const messages: FuzzTarget = {
  name: 'messages',
  run: (input) => {
    unless([RtspProtocolError], () => {
      const parser = new MessageParser({ strayBytes: 64 * 1024 })
      const half = input.length >> 1
      for (const chunk of [input.subarray(0, half), input.subarray(half)]) {
        for (const message of parser.push(chunk)) {
          if (message.kind === 'interleaved') continue
          const field = (name: string): string | undefined => message.headers.get(name)
          parseSession(field('session'))
          parseRtpInfo(field('rtp-info'))
          parseMethods(field('public'))
          parseTransport(field('transport') ?? '')
          parseServerPorts(field('transport'))
          parseChannels(field('transport'), { rtp: 0, rtcp: 1 })
          parseAuthentication(field('authorization') ?? '')
          const authorizer = new Authorizer({ user: 'user', password: PASSWORD })
          if (authorizer.challenge(message.headers.all('www-authenticate'))) authorizer.header('DESCRIBE', 'rtsp://camera/s')
        }
      }
    })
    // A reason phrase, or an error of GStreamer that quotes it.
    if (mask(input.toString('utf8')).includes(PASSWORD)) throw new Error('A password is shown')
  },
}

const sdp: FuzzTarget = {
  name: 'sdp',
  run: (input) =>
    unless([SdpError, Fault], () => {
      const description = parseSdp(input.toString('utf8'))
      for (const reencode of [false, true])
        unless([Fault], () => tracksOf({ sdp: description, address }, { reencode, sound: { codec: 'copy' } }))
      factsOfSdp(description, address)
    }),
}

const onvif: FuzzTarget = {
  name: 'onvif',
  run: (input) =>
    unless([XmlFault], () => {
      const text = input.toString('utf8')
      readProbeMatches(text, '10.0.0.1')
      for (const profile of all(find(parseXml(text), 'Body', 'GetProfilesResponse'), 'Profiles'))
        for (const { describe, getStreamUri } of [MEDIA, MEDIA2]) {
          describe(profile)
          parseXml(getStreamUri(profile.attributes.get('token') ?? ''))
        }
    }),
}

const playlists: FuzzTarget = {
  name: 'playlists',
  run: (input) => {
    const playlist = atOnce(parsePlaylist(input.toString('utf8')))
    if (playlist?.kind === 'variants') chooseVariant(playlist.variants)
    if (playlist?.kind !== 'media') return
    const seconds = reloadSeconds(playlist, true)
    if (!(seconds >= 0.5 && seconds <= 30)) throw new Error(`It waits for ${seconds} s`)
    for (const next of [undefined, 0, 5, 1e9]) dueSegments(playlist, next)
    for (const { range, sequence } of playlist.segments) {
      if (!Number.isSafeInteger(sequence)) throw new Error(`It has the number ${sequence}`)
      if (range !== undefined && !Number.isSafeInteger(range.offset + range.length))
        throw new Error(`It ends at ${range.offset}+${range.length}`)
    }
  },
}

const transport: FuzzTarget = {
  name: 'transport',
  run: (input) => {
    const [video, klv, sound] = createMediaStreams()
    for (const stream of [video, klv]) stream.begin({ foreign: true })
    const output = { video, sound, onGap: () => {}, onSound: () => {} }
    const events = { onAvailable: () => {}, onVideo: () => {}, onVideoLost: () => {} }
    const reader = new MpegTsInput(klv, events, {}, (ticksOf) => new TransportMedia({ ...output, ticksOf }))
    const half = input.length >> 1
    reader.demux(input.subarray(0, half), 0)
    reader.demux(input.subarray(half), 90_000)
    for (const stream of [video, klv, sound]) stream.end()
    const times = new TransportTimes()
    atOnce(times.pass(input, { seconds: 2, discontinuity: false }))
    atOnce(times.pass(input, { seconds: 2, discontinuity: true }))
  },
}

const klv: FuzzTarget = {
  name: 'klv',
  run: (input) => {
    new KlvStreamParser().push(input)
    // With the right checksum, so that what is inside is read too.
    if (input.length > 4) input.writeUInt16BE(checksum(input, input.length - 2), input.length - 2)
    const packet = decodePacket(input)
    if (typeof packet === 'string') return
    geolocationOf(packet)
    const arrival = { pipelineId: 'cam', receivedAt: 1e12, now: 1e12 }
    if (typeof footprintOf(packet) !== 'string') footprintFeature(packet, arrival)
    klvPacketJson(packet, arrival)
    klvFeature(packet, arrival)
  },
}

const caps = (fields: string): RtpCaps => {
  const parsed = parseRtpCaps(`application/x-rtp, clock-rate=90000, payload=96, ${fields}`)
  if (parsed === undefined) throw new Error('No caps')
  return parsed
}
const VIDEO = [
  caps('media=video, encoding-name=H264, sprop-parameter-sets="Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA==,aOvMsg=="'),
  caps('media=video, encoding-name=H265'),
]
const LOCAL = { ufrag: 'user', password: 'password', fingerprint: 'sha-256 AA', setup: 'passive', candidates: [] }

const webRtc: FuzzTarget = {
  name: 'web-rtc',
  run: (input) => {
    parseFeedback(input)
    const text = input.toString('utf8')
    unless([ApiError], () => void fragmentCandidates(text, 'abcd'))
    for (const media of VIDEO)
      unless([ApiError], () => {
        const offer = parseOffer(text)
        const video = { ...chooseVideo(offer, media), ssrc: 1 }
        const answer = formatAnswer(offer, {
          sessionId: '1',
          video,
          sound: undefined,
          data: chooseData(offer),
          local: LOCAL,
          candidates: [],
        })
        if (!/^v=0\r\n(?:[a-z]=[\x20-\x7e]*\r\n)*$/.test(answer)) throw new Error(`An answer is not SDP: ${JSON.stringify(answer)}`)
      })
  },
}

export const targetOf = (name: string): FuzzTarget => {
  const target = FUZZ_TARGETS.find((each) => each.name === name)
  if (target === undefined) throw new Error(`There is no target ${name}`)
  return target
}

export const FUZZ_TARGETS: readonly FuzzTarget[] = [messages, sdp, playlists, transport, klv, webRtc, onvif]
