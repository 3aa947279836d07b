import type { PUSH_SCHEMES } from '../../lib/uri/uri-schemas.ts'
import { type Address, RTSPS_PORT } from '../faults/address.ts'
import { chain, type LaunchTokens, type MakeElement, makeElement } from '../gst/element.ts'
import { bad, type Elements, good, rtspServer } from '../gst/elements.ts'
import type { FaultRule } from '../gst/fault-rules.ts'
import type { Reach } from '../sandbox/sandbox.ts'

/** What the video of the pipeline is, and whether KLV goes along. */
export interface PushMedia {
  /** Encoding name of its RTP, `H264` or `H265`. */
  readonly codec: string
  readonly klv: boolean
  /** IP address of the receiver: udpsink would drop all video in silence where it finds none. Undefined for a listener without a host. */
  readonly receiver: string | undefined
  /** Where a listener without a host listens, as the outputs do. */
  readonly outputHost: string
}

/** All that differs from one scheme of pushes to another. The rules of its addresses and its codecs: PUSH_SCHEMES of the API. */
export interface PushScheme {
  readonly line: (address: Address, media: PushMedia) => LaunchTokens
  /** What the child of a push may reach. What is left out is denied. */
  readonly reach: (address: Address) => Reach
  /** What its sink prints when it fails, the most specific first. */
  readonly faults: readonly FaultRule[]
  /** Where KLV goes: into the MPEG-TS, into a track that the receiver may refuse, or nowhere. */
  readonly klv: 'inside' | 'track' | 'none'
  /** Whether the cached GOP may be sent at once: over UDP it would be a burst that receivers lose. */
  readonly catchUp: boolean
  /** The receiver speaks TLS. */
  readonly tls: boolean
  /** Printed when the receiver is about to take the video; left out where the first buffers that leave show it. */
  readonly begins?: RegExp
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

const elements = {
  tsparse: bad('pushes'),
  progressreport: good('pushes'),
  srtsink: bad('pushes over SRT'),
  udpsink: good('pushes over UDP'),
  flvmux: good('pushes over RTMP'),
  rtmp2sink: bad('pushes over RTMP'),
  rtspclientsink: rtspServer('pushes over RTSP'),
}
const element: MakeElement<keyof typeof elements> = makeElement

/** The elements that only pushes have. */
export const PUSH_ELEMENTS: Elements = elements

const input = (): LaunchTokens => element('fdsrc', { fd: 0, blocksize: 65_536 })

/** Prints each second how many buffers have come so far: that they leave shows that the receiver takes them. */
const progress = (): LaunchTokens => element('progressreport', { name: 'progress', 'update-freq': 1, 'do-query': false, format: 'buffers' })

// latency=0: tsdemux would smooth jitter, which a pipe does not have.
const demuxer = (): LaunchTokens => element('tsdemux', { name: 'in', latency: 0 })

const parser = ({ codec }: PushMedia): LaunchTokens => element(codec === 'H265' ? 'h265parse' : 'h264parse')

/** Names of the local network are resolved over a socket of the host. */
const LOCAL_NAME = /\.local\.?$/i

const toReceiver = ({ host }: Address): Reach => ({ network: true, localSockets: LOCAL_NAME.test(host) })

const srt: PushScheme = {
  line: (address, { outputHost }) =>
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
    ),
  reach: toReceiver,
  faults: [
    {
      pattern: /bad secret|wrong password|Incorrect passphrase|passphrase/i,
      reason: 'unauthorized',
      message: 'The passphrase of the SRT receiver is wrong or missing. Correct it in the uri of the push.',
    },
    {
      pattern: /SRT socket: Connection (?:timeout|rejected)|Connection setup failure/i,
      reason: 'unreachable',
      message: 'The SRT receiver does not answer: nothing listens at its address and port, or it rejects the stream id or passphrase.',
    },
  ],
  klv: 'inside',
  catchUp: true,
  tls: false,
}

const udp: PushScheme = {
  line: ({ port, query }, { receiver }) =>
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
    ),
  reach: toReceiver,
  faults: [],
  klv: 'inside',
  catchUp: false,
  tls: false,
}

const rtmp: PushScheme = {
  line: ({ bare, user, password }, media) =>
    chain(
      input(),
      demuxer(),
      parser(media),
      element('flvmux', { streamable: true }),
      progress(),
      element('rtmp2sink', { location: bare, username: user, password, timeout: CONNECT_SECONDS, ...UNPACED }),
    ),
  reach: toReceiver,
  faults: [
    {
      // nginx-rtmp closes the connection of a wrong key without an answer.
      pattern:
        /Publish\.(?:BadName|Denied|Rejected)|publish(?:ing)? (?:is |was |has been )?(?:denied|rejected)|'publish' cmd failed: connection closed/i,
      reason: 'unauthorized',
      message: 'The receiver does not let this stream be published: another one may use its name, or the key is wrong.',
    },
    {
      pattern: /'connect' cmd failed: connection closed/,
      reason: 'not_found',
      message: 'The receiver closes the connection when asked for this RTMP application. Check the first part of the path of the push.',
    },
    {
      pattern: /Failed to connect: Short read/,
      reason: 'source_error',
      message: 'The receiver closes the connection in the RTMP handshake. Check the port of the push: it may be that of another protocol.',
    },
    {
      pattern: /Failed to connect: Socket I\/O timed out/,
      reason: 'timeout',
      message: 'The receiver does not answer: its program hangs, or a firewall is between.',
    },
    {
      // node-media-server closes the connection of a wrong key after it has accepted the stream.
      pattern: /Connection error: connection closed remotely/,
      reason: 'unreachable',
      message: 'The receiver closed the connection. If it does so at each attempt, check the stream key of the push.',
    },
  ],
  klv: 'none',
  catchUp: true,
  tls: false,
}

/** rtspclientsink begins when each of its tracks has data, so none may wait for the other. */
const uncoupled = (): LaunchTokens => element('queue', { 'max-size-buffers': 0, 'max-size-time': 0, 'max-size-bytes': SET_UP_BYTES })

const rtsp: PushScheme = {
  line: ({ bare, user, password, port, scheme }, media) => {
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
  },
  reach: toReceiver,
  faults: [
    {
      pattern: /Got error response: (\d{3} \([^)]{1,60}\))/,
      reason: 'source_error',
      message: 'The receiver does not take the stream: it answers $1.',
    },
  ],
  klv: 'track',
  catchUp: true,
  tls: false,
  begins: /^Progress: \(record\) Starting recording/,
}

/** A scheme is a row here, and one of PUSH_SCHEMES with the rules of its addresses. */
const SCHEMES: Readonly<Record<keyof typeof PUSH_SCHEMES, PushScheme>> = {
  srt,
  udp,
  rtmp,
  rtmps: { ...rtmp, tls: true },
  rtsp,
  rtsps: { ...rtsp, tls: true },
}

const isPushed = (scheme: string): scheme is keyof typeof SCHEMES => Object.hasOwn(SCHEMES, scheme)

/** Undefined for a scheme that is not one of pushes. */
export const pushScheme = (scheme: string): PushScheme | undefined => (isPushed(scheme) ? SCHEMES[scheme] : undefined)
