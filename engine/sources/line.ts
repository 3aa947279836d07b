import type { Source } from '../../lib/schema/pipeline.ts'
import { Fault } from '../fault.ts'
import { chain, element, type LaunchTokens } from '../gst/element.ts'
import { type Address, parseAddress } from './address.ts'
import { cameraLaunchHead, presumedLaunchHead } from './camera/line.ts'
import { parseCameraUri } from './camera/mode.ts'
import type { SourceFacts } from './facts.ts'
import { parseTestSource } from './test-source.ts'

/** Name of the element whose pads carry the tracks. */
export const TRACKS = 'tracks'
/** Name of the tee that hands out a whole MPEG-TS. */
export const TRANSPORT = 'transport'

/** Caps of a track of the source before any conversion. */
export type VideoForm = 'rtp' | 'parsed' | 'raw'

export interface SourceLine {
  /** The elements up to the one named `tracks`, or up to the video when there is but one track. */
  readonly words: LaunchTokens
  /** `tracks`: pads are picked by caps; `video`: the line ends with the video itself. */
  readonly ends: 'tracks' | 'video'
  readonly form: VideoForm
  /** There is a tee named `transport`, for what tsdemux passes over. */
  readonly transport?: true
}

const SECONDS_TO_MICROSECONDS = 1_000_000
/** A source that has gone silent ends the child after this time at the latest; the stall watchdog of the settings is usually faster. */
const SILENCE_SECONDS = 20

// rtspsrc would take port 554 for rtsps as well; 322 is the port of the standard (RFC 7826 section 19.2), and the one our own question goes to.
const rtspLocation = (address: Address, scheme: string): string =>
  address.bare.replace(/^[a-z]+:\/\/[^/?]*/, (start) => {
    const authority = start.replace(/^[a-z]+/, scheme)
    return scheme === 'rtsps' && address.port === undefined ? `${authority}:322` : authority
  })

const rtsp = (address: Address, source: Source, facts: SourceFacts): SourceLine => {
  const insideTs = facts.video === 'MP2T'
  const secure = address.scheme === 'rtsps'
  const scheme = secure ? 'rtsps' : 'rtsp'
  const rtspsrc = element('rtspsrc', {
    name: insideTs ? undefined : TRACKS,
    location: rtspLocation(address, scheme),
    'user-id': address.user,
    'user-pw': address.user === undefined ? undefined : (address.password ?? ''),
    // Only a gap waits this long; packets in order pass at once. drop-on-latency stays off: it would drop the packets of a burst, such as a key frame.
    latency: source.latency_ms,
    // rtspsrc tries UDP before TCP whatever the order here, and loses packets of key frames on small receive buffers.
    protocols: facts.transport ?? 'tcp',
    'tcp-timeout': SILENCE_SECONDS * SECONDS_TO_MICROSECONDS,
    timeout: 5 * SECONDS_TO_MICROSECONDS,
    'do-rtsp-keep-alive': true,
    // Cameras sign their certificates themselves: TLS here keeps the stream private, it does not prove who sends it.
    'tls-validation-flags': secure ? 'no-flags' : undefined,
  })
  if (insideTs) return { words: chain(rtspsrc, element('rtpmp2tdepay'), tee(), tsdemux()), ends: 'tracks', form: 'parsed', transport: true }
  return { words: rtspsrc, ends: 'tracks', form: 'rtp' }
}

// latency=0: tsdemux would otherwise ask sinks to wait 700 ms for jitter that a live passthrough does not smooth.
const tsdemux = (): LaunchTokens => element('tsdemux', { name: TRACKS, latency: 0 })

const tee = (): LaunchTokens => element('tee', { name: TRANSPORT })

const TRANSPORT_CAPS = 'video/mpegts,systemstream=(boolean)true,packetsize=(int)188'

const udp = (address: Address): SourceLine => ({
  words: chain(
    element('udpsrc', {
      address: address.host,
      port: address.port ?? 1234,
      'multicast-iface': address.query.get('iface') ?? undefined,
      // A burst of an access unit of 4K at 1 Gbit/s; the kernel grants what net.core.rmem_max allows.
      'buffer-size': 4 * 1024 * 1024,
      caps: TRANSPORT_CAPS,
    }),
    tee(),
    tsdemux(),
  ),
  ends: 'tracks',
  form: 'parsed',
  transport: true,
})

const srt = (address: Address, source: Source): SourceLine => ({
  words: chain(
    element('srtsrc', {
      uri: address.bare,
      latency: address.query.has('latency') ? undefined : source.latency_ms,
      // A lost connection ends the child with its cause; the engine's own backoff connects again.
      'auto-reconnect': false,
    }),
    [TRANSPORT_CAPS],
    tee(),
    tsdemux(),
  ),
  ends: 'tracks',
  form: 'parsed',
  transport: true,
})

const rtmp = (address: Address): SourceLine => ({
  words: chain(
    element('rtmp2src', {
      location: address.bare,
      username: address.user,
      password: address.password,
      'tls-validation-flags': address.scheme === 'rtmps' ? 'no-flags' : undefined,
      timeout: 10,
    }),
    element('flvdemux', { name: TRACKS }),
  ),
  ends: 'tracks',
  form: 'parsed',
})

const http = (address: Address, facts: SourceFacts): SourceLine => {
  const souphttpsrc = element('souphttpsrc', {
    location: address.bare,
    'user-id': address.user,
    'user-pw': address.password,
    'is-live': !facts.paced,
    timeout: SILENCE_SECONDS,
    retries: 0,
  })
  if (facts.http === 'mjpeg') {
    return {
      words: chain(souphttpsrc, element('multipartdemux', { 'single-stream': true }), ['image/jpeg']),
      ends: 'video',
      form: 'parsed',
    }
  }
  const demuxer = facts.http === 'mpegts' ? tsdemux() : element('parsebin', { name: TRACKS })
  return { words: chain(souphttpsrc, demuxer), ends: 'tracks', form: 'parsed' }
}

const file = (address: Address): SourceLine => ({
  // parsebin loses a KLV track now and then; what is MPEG-TS by its name goes without it.
  words: chain(
    element('filesrc', { location: filePath(address) }),
    /\.(?:ts|mts|m2ts)$/i.test(filePath(address)) ? tsdemux() : element('parsebin', { name: TRACKS }),
  ),
  ends: 'tracks',
  form: 'parsed',
})

/** The path of a file:// address, percent-decoded. Fault unsupported for another host. */
export const filePath = (address: Address): string => {
  if (address.host !== '' && address.host !== 'localhost')
    throw new Fault('unsupported', 'A file source must be on this host: file:///path')
  const [path = '/'] = address.path.split('?')
  try {
    const decoded = decodeURIComponent(path)
    if (!/[\0\r\n]/.test(decoded)) return decoded
  } catch {
    // falls through to the refusal
  }
  throw new Fault('unsupported', 'The path of the file source cannot be read.')
}

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
  if (camera !== undefined) return { words: cameraLaunchHead(camera), ends: 'video', form: camera.kind === 'raw' ? 'raw' : 'parsed' }
  const asked = parseCameraUri(source.uri)
  const presumed = asked.encoding === undefined && video === 'H264' ? { ...asked, encoding: 'h264' } : asked
  return { words: presumedLaunchHead(presumed), ends: 'video', form: isEncoded(presumed.encoding) ? 'parsed' : 'raw' }
}

const isEncoded = (encoding: string | undefined): boolean => encoding === 'h264' || encoding === 'h265' || encoding === 'mjpeg'

/** The elements that bring the source in. Fault unsupported when its address cannot be read. */
export const sourceLine = (source: Source, facts: SourceFacts): SourceLine => {
  const address = parseAddress(source.uri)
  if (address.scheme === 'srt') return srt(address, source)
  if (facts.kind === 'rtsp') return rtsp(address, source, facts)
  if (facts.kind === 'mpegts') return udp(address)
  if (facts.kind === 'rtmp') return rtmp(address)
  if (facts.kind === 'http') return http(address, facts)
  if (facts.kind === 'file') return file(address)
  return facts.kind === 'test' ? test(address) : v4l2(source, facts)
}
