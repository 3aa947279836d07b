import type { Source } from '../../lib/schema/pipeline.ts'
import { type Address, parseAddress, RTSPS_PORT } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { chain, element, type LaunchTokens } from '../gst/element.ts'
import { parseCameraAddress } from './camera/address.ts'
import { cameraLine, isEncoded, presumedCameraLine } from './camera/launch-line.ts'
import type { SourceFacts } from './facts.ts'
import { filePath } from './file.ts'
import type { SourceKind } from './schemes.ts'
import { parseTestSource } from './test-source.ts'

/** Name of the element whose pads carry the tracks. */
export const TRACKS = 'tracks'
/** Name of the tee that carries the whole MPEG-TS. */
export const TRANSPORT = 'transport'

/** Caps of a track of the source before any conversion. */
type VideoForm = 'rtp' | 'parsed' | 'raw'

export interface SourceLine {
  /** The elements up to the one named `tracks`, or up to the video of a source with a single track. */
  readonly words: LaunchTokens
  /** `tracks`: the pads are linked by caps; `video`: the last element's pad is the video. */
  readonly ends: 'tracks' | 'video'
  readonly form: VideoForm
  /** There is a tee named `transport`, for tracks that tsdemux ignores. */
  readonly transport?: true
  /** What of the debug log of GStreamer the child prints, as GST_DEBUG has it. */
  readonly debug?: string
}

const SECONDS_TO_MICROSECONDS = 1_000_000
/** A silent source ends the child after this time at the latest; the stall watchdog of the settings is usually faster. */
const SILENCE_SECONDS = 20

// rtspsrc would use port 554 for rtsps as well.
const rtspLocation = (address: Address, scheme: string): string =>
  address.bare.replace(/^[a-z]+:\/\/[^/?]*/, (start) => {
    const authority = start.replace(/^[a-z]+/, scheme)
    return scheme === 'rtsps' && address.port === undefined ? `${authority}:${RTSPS_PORT}` : authority
  })

const rtsp = (address: Address, source: Source, facts: SourceFacts): SourceLine => {
  if (facts.oddProtocol !== undefined) throw oddProtocol(facts.oddProtocol)
  const insideTs = facts.video === 'MP2T'
  const secure = address.scheme === 'rtsps'
  const scheme = secure ? 'rtsps' : 'rtsp'
  const rtspsrc = element('rtspsrc', {
    name: insideTs ? undefined : TRACKS,
    location: rtspLocation(address, scheme),
    'user-id': address.user,
    'user-pw': address.user === undefined ? undefined : (address.password ?? ''),
    // The jitter buffer waits this long for a missing packet. drop-on-latency stays off: it would drop packets of a burst such as a key frame.
    latency: source.latency_ms,
    // rtspsrc tries UDP before TCP whatever the order here, and loses packets of key frames in small receive buffers.
    protocols: facts.transport ?? 'tcp',
    'tcp-timeout': SILENCE_SECONDS * SECONDS_TO_MICROSECONDS,
    timeout: 5 * SECONDS_TO_MICROSECONDS,
    'do-rtsp-keep-alive': true,
    // A server that closes the connection has ended the stream. rtspsrc would connect again and wait for packets that do not come.
    'udp-reconnect': facts.transport === 'udp' ? false : undefined,
    // Cameras sign their certificates themselves: TLS here keeps the stream private, it does not prove who sends it.
    'tls-validation-flags': secure ? 'no-flags' : undefined,
  })
  if (insideTs)
    return {
      words: chain(rtspsrc, element('rtpmp2tdepay'), tee(), tsdemux(facts.program)),
      ends: 'tracks',
      form: 'parsed',
      transport: true,
    }
  return { words: rtspsrc, ends: 'tracks', form: 'rtp' }
}

const oddProtocol = (protocol: string): Fault =>
  new Fault(
    'source_error',
    `The source describes its video as ${protocol}, which GStreamer does not take. The engine itself can read it: leave out encoding, and SVC_RTSP_READER=child. To re-encode it, use the output of such a pipeline as the source of another.`,
  )

// latency=0: tsdemux would otherwise add 700 ms of latency for jitter, which passing through does not smooth.
const tsdemux = (program?: number): LaunchTokens => element('tsdemux', { name: TRACKS, latency: 0, 'program-number': program })

const tee = (): LaunchTokens => element('tee', { name: TRANSPORT })

const TRANSPORT_CAPS = 'video/mpegts,systemstream=(boolean)true,packetsize=(int)188'

/** RFC 5771, RFC 4291 section 2.7. */
const isMulticast = (host: string): boolean => /^(?:22[4-9]|23\d)\.|^ff[0-9a-f]{2}:/i.test(host)

const udp = (address: Address, { program }: SourceFacts): SourceLine => ({
  words: chain(
    element('udpsrc', {
      address: address.host,
      port: address.port ?? 1234,
      'multicast-iface': address.query.get('iface') ?? undefined,
      // Several may receive a group. A packet to one host goes to one of the sockets that share its port, and none would know.
      reuse: isMulticast(address.host) ? undefined : false,
      // Holds a 4K access unit that arrives as a burst at 1 Gbit/s; net.core.rmem_max is the upper limit.
      'buffer-size': 4 * 1024 * 1024,
      caps: TRANSPORT_CAPS,
    }),
    tee(),
    tsdemux(program),
  ),
  ends: 'tracks',
  form: 'parsed',
  transport: true,
})

const srt = (address: Address, source: Source, { program }: SourceFacts): SourceLine => ({
  words: chain(
    element('srtsrc', {
      uri: address.bare,
      latency: address.query.has('latency') ? undefined : source.latency_ms,
      // A lost connection ends the child with its cause; the engine reconnects with its own backoff.
      'auto-reconnect': false,
    }),
    [TRANSPORT_CAPS],
    tee(),
    tsdemux(program),
  ),
  ends: 'tracks',
  form: 'parsed',
  transport: true,
  // A sender that libsrt refuses for its passphrase is told nowhere else.
  debug: 'srtlib:2',
})

/**
 * Sound goes into a closed valve. Some servers send it ahead of the video, and flvdemux ends the stream when none of the tracks that
 * it has so far is linked. A valve is no sink, so the child does not wait for the end of a track that never comes.
 */
const flvdemux = (): LaunchTokens => [
  ...element('flvdemux', { name: TRACKS }),
  ...chain([`${TRACKS}.audio`], element('valve', { drop: true })),
]

const rtmp = (address: Address): SourceLine => ({
  words: chain(
    element('rtmp2src', {
      location: address.bare,
      username: address.user,
      password: address.password,
      'tls-validation-flags': address.scheme === 'rtmps' ? 'no-flags' : undefined,
      timeout: 10,
    }),
    flvdemux(),
  ),
  ends: 'tracks',
  form: 'parsed',
})

const http = (address: Address, facts: SourceFacts): SourceLine => {
  const souphttpsrc = element('souphttpsrc', {
    // Only the source posts an error when flvdemux does not know a codec; its name tells that error from others (bus-errors.ts).
    name: facts.http === 'flv' ? 'flv' : undefined,
    location: facts.http === 'hls' ? withCredentials(address) : address.bare,
    'user-id': address.user,
    'user-pw': address.password,
    // HLS too: otherwise gst-launch sets the state at each buffering message of hlsdemux2, and one during preroll may leave it paused.
    'is-live': !facts.paced || facts.http === 'hls',
    // Pictures alone have no times: theirs is when they came. Any other format carries its own.
    'do-timestamp': facts.http === 'mjpeg' ? true : undefined,
    timeout: SILENCE_SECONDS,
    retries: 0,
    // The probe followed the redirects; souphttpsrc would send the credentials wherever another one leads.
    'automatic-redirect': address.user === undefined ? undefined : false,
  })
  if (facts.http === 'mjpeg') {
    return {
      words: chain(souphttpsrc, element('multipartdemux', { 'single-stream': true }), ['image/jpeg']),
      ends: 'video',
      form: 'parsed',
    }
  }
  if (facts.http === 'mpegts' && !facts.paced)
    return { words: chain(souphttpsrc, [TRANSPORT_CAPS], tee(), tsdemux(facts.program)), ends: 'tracks', form: 'parsed', transport: true }
  return { words: chain(souphttpsrc, httpDemuxer(facts)), ends: 'tracks', form: 'parsed' }
}

/**
 * hlsdemux2 requests playlists and segments itself, and knows no credentials but those in the address of the playlist, to which
 * relative ones refer. libsoup sends them to no other host.
 */
const withCredentials = ({ bare, user, password = '' }: Address): string =>
  user === undefined ? bare : bare.replace('://', () => `://${encodeURIComponent(user)}:${encodeURIComponent(password)}@`)

const httpDemuxer = ({ http }: SourceFacts): LaunchTokens => {
  if (http === 'mpegts') return tsdemux()
  return http === 'flv' ? flvdemux() : element('parsebin', { name: TRACKS })
}

const file = (address: Address): SourceLine => ({
  // parsebin sometimes loses a KLV track, so files named as MPEG-TS are demuxed without it.
  words: chain(
    element('filesrc', { location: filePath(address) }),
    /\.(?:ts|mts|m2ts)$/i.test(filePath(address)) ? tsdemux() : element('parsebin', { name: TRACKS }),
  ),
  ends: 'tracks',
  form: 'parsed',
})

const test = (address: Address): SourceLine => {
  const { pattern, width, height, fps } = parseTestSource(address)
  return {
    words: chain(element('videotestsrc', { 'is-live': true, pattern }), [
      `video/x-raw,format=I420,width=${width},height=${height},framerate=${fps}/1`,
    ]),
    ends: 'video',
    form: 'raw',
  }
}

const v4l2 = (source: Source, { camera, video }: SourceFacts): SourceLine => {
  if (camera !== undefined) return { words: cameraLine(camera), ends: 'video', form: camera.kind === 'raw' ? 'raw' : 'parsed' }
  const address = parseCameraAddress(source.uri)
  const presumed = address.encoding === undefined && video === 'H264' ? { ...address, encoding: 'h264' } : address
  return { words: presumedCameraLine(presumed), ends: 'video', form: isEncoded(presumed.encoding) ? 'parsed' : 'raw' }
}

const LINES: Readonly<Record<SourceKind, (address: Address, source: Source, facts: SourceFacts) => SourceLine>> = {
  rtsp,
  mpegts: (address, source, facts) => (address.scheme === 'srt' ? srt(address, source, facts) : udp(address, facts)),
  rtmp,
  http: (address, _source, facts) => http(address, facts),
  file,
  test,
  v4l2: (_address, source, facts) => v4l2(source, facts),
}

/** The first elements of the launch line, which read the source. Fault unsupported when its address is malformed, source_error when no element reads it. */
export const sourceLine = (source: Source, facts: SourceFacts): SourceLine =>
  LINES[facts.kind](facts.redirectedTo ?? parseAddress(source.uri), source, facts)
