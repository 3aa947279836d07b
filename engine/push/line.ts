import { isListener, streamAddressOf } from '../../lib/uri/stream-address.ts'
import { isRtmp, type PUSH_SCHEMES } from '../../lib/uri/uri-schemas.ts'
import { type Address, parseAddress, RTSPS_PORT } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { chain, element, type LaunchTokens, toArguments } from '../gst/element.ts'
import type { Reach } from '../sandbox/sandbox.ts'

/** A child that sends the MPEG-TS that it reads from its stdin to a receiver. */
export interface PushLine {
  readonly args: readonly string[]
  readonly reach: Reach
  /** It waits for receivers, so nobody there is no fault. */
  readonly listens: boolean
  /** The receiver speaks TLS. */
  readonly tls: boolean
  /** Whether the cached GOP may be sent at once: over UDP it would be a burst that receivers lose. */
  readonly catchUp: boolean
  /** Whether KLV may be in the MPEG-TS. A demuxer whose tables change loses the track of the video, so that it gets KLV from the first or never. */
  readonly klv: boolean
  /** Printed when the receiver is about to take the video; undefined where the first buffers that leave say so. */
  readonly begins: RegExp | undefined
}

/** What the video of the pipeline is, and whether KLV goes along. */
interface PushMedia {
  /** Encoding name of its RTP, `H264` or `H265`. */
  readonly codec: string
  readonly klv: boolean
  /** IP address of the receiver: udpsink would drop all video in silence where it finds none. Undefined for a listener without a host. */
  readonly receiver: string | undefined
  /** Where a listener without a host listens, as the outputs do. */
  readonly outputHost: string
}

/** A receiver that does not answer in this time ends the attempt, seconds. */
const CONNECT_SECONDS = 5
/** Multicast stays in the own network unless the address says otherwise. */
const MULTICAST_TTL = 1
/** Holds a 4K access unit. */
const SEND_BUFFER_BYTES = 4 * 1024 * 1024
/** A key frame leaves at this rate at most: receivers with the usual buffer of 208 KiB would lose a part of a burst. Bits per second. */
const UDP_BURST_RATE = 200_000_000
/** Video that waits while the track of the KLV is being set up. */
const SET_UP_BYTES = 16 * 1024 * 1024

/** Datagrams of this many packets of 188 bytes fit into an Ethernet frame. */
const PACKETS_PER_DATAGRAM = 7

const UNPACED = { sync: false, async: false } as const

const input = (): LaunchTokens => element('fdsrc', { fd: 0, blocksize: 65_536 })

/** Prints each second how many buffers have come so far: that they leave shows that the receiver takes them. */
const progress = (): LaunchTokens => element('progressreport', { name: 'progress', 'update-freq': 1, 'do-query': false, format: 'buffers' })

const parser = ({ codec }: PushMedia): LaunchTokens => element(codec === 'H265' ? 'h265parse' : 'h264parse')

const srt = (address: Address, { outputHost }: PushMedia): LaunchTokens =>
  chain(
    input(),
    // Without alignment, since srtsink cuts into datagrams by itself: the end of a picture does not wait for the next one.
    element('tsparse'),
    progress(),
    element('srtsink', {
      uri: address.bare.replace(/^srt:\/\/(?=:)/, `srt://${outputHost.includes(':') ? `[${outputHost}]` : outputHost}`),
      // A lost connection ends the child with its cause; the engine connects again.
      'auto-reconnect': false,
      ...UNPACED,
    }),
  )

const udp = ({ port, query }: Address, { receiver }: PushMedia): LaunchTokens =>
  chain(
    input(),
    element('tsparse', { alignment: PACKETS_PER_DATAGRAM }),
    progress(),
    element('udpsink', {
      host: receiver,
      port,
      'ttl-mc': Number(query.get('ttl') ?? MULTICAST_TTL),
      'multicast-iface': query.get('iface') ?? undefined,
      'buffer-size': SEND_BUFFER_BYTES,
      'max-bitrate': UDP_BURST_RATE,
      ...UNPACED,
    }),
  )

// latency=0: tsdemux would smooth jitter, which a pipe does not have.
const demuxer = (): LaunchTokens => element('tsdemux', { name: 'in', latency: 0 })

const rtmp = ({ bare, user, password }: Address, media: PushMedia): LaunchTokens =>
  chain(
    input(),
    demuxer(),
    parser(media),
    element('flvmux', { streamable: true }),
    progress(),
    element('rtmp2sink', { location: bare, username: user, password, timeout: CONNECT_SECONDS, ...UNPACED }),
  )

/** rtspclientsink begins when each of its tracks has data, so none may wait for the other. */
const uncoupled = (): LaunchTokens => element('queue', { 'max-size-buffers': 0, 'max-size-time': 0, 'max-size-bytes': SET_UP_BYTES })

const rtsp = ({ bare, user, password, port, scheme }: Address, media: PushMedia): LaunchTokens => {
  const location = scheme === 'rtsps' && port === undefined ? bare.replace(/^rtsps:\/\/[^/?]*/, `$&:${RTSPS_PORT}`) : bare
  const sink = element('rtspclientsink', {
    name: 'out',
    location,
    'user-id': user,
    'user-pw': user === undefined ? undefined : (password ?? ''),
    protocols: 'tcp',
    latency: 0,
    'tcp-timeout': CONNECT_SECONDS * 1_000_000,
  })
  const video = chain(input(), demuxer(), parser(media), media.klv ? uncoupled() : [], progress(), sink)
  return media.klv ? [...video, ...chain(['in.'], ['meta/x-klv'], uncoupled(), ['out.'])] : video
}

type MakeLine = (address: Address, media: PushMedia) => LaunchTokens

const LINES: Readonly<Record<(typeof PUSH_SCHEMES)[number], MakeLine>> = {
  srt,
  udp,
  rtmp,
  rtmps: rtmp,
  rtsp,
  rtsps: rtsp,
}

const isPushed = (scheme: string): scheme is keyof typeof LINES => Object.hasOwn(LINES, scheme)

/** Whether the receivers at this address have a track for KLV, which they may refuse. */
export const refusesKlv = (uri: string): boolean => /^rtsps?:/i.test(uri)

/** Whether anybody may connect and get the video: a listener that asks for no passphrase. */
export const isOpenListener = (uri: string): boolean => {
  const receiver = streamAddressOf(uri)
  return isListener(receiver) && (receiver.query.get('passphrase') ?? '') === ''
}

/** Names of the local network are resolved over a socket of the host. */
const LOCAL_NAME = /\.local\.?$/i

/** The `gst-launch-1.0` line that sends to the receiver. Fault unsupported when the address is malformed or has no known scheme. */
export const pushLine = (uri: string, media: PushMedia): PushLine => {
  const address = parseAddress(uri)
  if (!isPushed(address.scheme)) throw new Fault('unsupported', `Pushes over ${address.scheme}:// are not supported.`)
  const words = LINES[address.scheme](address, media)
  return {
    args: ['--', ...toArguments(words)],
    reach: { network: true, localSockets: LOCAL_NAME.test(address.host) },
    listens: isListener(address),
    tls: /^(?:rtsps|rtmps)$/.test(address.scheme),
    catchUp: address.scheme !== 'udp',
    klv: refusesKlv(uri) ? media.klv : !isRtmp(uri),
    begins: refusesKlv(uri) ? /^Progress: \(record\) Starting recording/ : undefined,
  }
}
