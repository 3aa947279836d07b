import type { PUSH_SCHEMES } from '../../lib/uri/uri-schemas.ts'
import type { Address } from '../faults/address.ts'
import { chain, type LaunchTokens, type MakeElement, makeElement } from '../gst/element.ts'
import { bad, type Elements, good } from '../gst/elements.ts'
import type { FaultRule } from '../gst/fault-rules.ts'
import type { Reach } from '../sandbox/sandbox.ts'

/** What the line of a push depends on. */
export interface PushMedia {
  /** Encoding name of the video's RTP, `H264` or `H265`. */
  readonly codec: string
  /** IP address of the receiver: udpsink would drop all video in silence where it finds none. Undefined for a listener without a host. */
  readonly receiver: string | undefined
  /** Where a listener without a host listens, as the outputs do. */
  readonly outputHost: string
}

/** All that differs from one scheme of pushes by a child process to another. The rules of its addresses and its codecs: PUSH_SCHEMES of the API. */
export interface PushScheme {
  readonly line: (address: Address, media: PushMedia) => LaunchTokens
  /** What the child of a push may reach. What is left out is denied. */
  readonly reach: (address: Address) => Reach
  /** What its sink prints when it fails, the most specific first. */
  readonly faults: readonly FaultRule[]
  /** Its child reads tags of FLV in the GStreamer Data Protocol instead of MPEG-TS. */
  readonly flv?: true
  /** Whether KLV goes into its MPEG-TS. */
  readonly klv: boolean
  /** Whether sound goes along. */
  readonly sound: boolean
  /** Whether the cached GOP may be sent at once: over UDP it would be a burst that receivers lose. */
  readonly catchUp: boolean
  /** The receiver speaks TLS. */
  readonly tls: boolean
}

/** A receiver that does not answer in this time ends the attempt, seconds. */
const CONNECT_SECONDS = 5
/** Multicast stays in the own network unless the address says otherwise. */
const MULTICAST_TTL = 1
/** Holds a 4K access unit. */
const SEND_BUFFER_BYTES = 4 * 1024 * 1024
/** A key frame leaves at this rate at most: receivers with the usual buffer of 208 KiB would lose a part of a burst. Bits per second. */
const UDP_BURST_RATE = 200_000_000

/** Datagrams of this many packets of 188 bytes fit into an Ethernet frame. */
const PACKETS_PER_DATAGRAM = 7

const UNPACED = { sync: false, async: false } as const

const elements = {
  tsparse: bad('pushes'),
  progressreport: good('pushes'),
  srtsink: bad('pushes over SRT'),
  udpsink: good('pushes over UDP'),
  gdpdepay: bad('pushes over RTMP'),
  rtmp2sink: bad('pushes over RTMP'),
}
const element: MakeElement<keyof typeof elements> = makeElement

/** The elements that only pushes have. */
export const PUSH_ELEMENTS: Elements = elements

const input = (): LaunchTokens => element('fdsrc', { fd: 0, blocksize: 65_536 })

/** Prints each second how many buffers have come so far: that they leave shows that the receiver takes them. */
const progress = (): LaunchTokens => element('progressreport', { name: 'progress', 'update-freq': 1, 'do-query': false, format: 'buffers' })

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
  klv: true,
  sound: true,
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
  klv: true,
  sound: true,
  catchUp: false,
  tls: false,
}

const rtmp: PushScheme = {
  // The engine writes the FLV: flvmux waits for sound that pauses, and the pictures with it.
  line: ({ bare, user, password }) =>
    chain(
      input(),
      element('gdpdepay'),
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
  flv: true,
  klv: false,
  sound: true,
  catchUp: true,
  tls: false,
}

/** A scheme is a row here (`engine`: RTSP, which the engine itself speaks), and one of PUSH_SCHEMES with the rules of its addresses. */
const SCHEMES: Readonly<Record<keyof typeof PUSH_SCHEMES, PushScheme | 'engine'>> = {
  srt,
  udp,
  rtmp,
  rtmps: { ...rtmp, tls: true },
  rtsp: 'engine',
  rtsps: 'engine',
}

const isPushed = (scheme: string): scheme is keyof typeof SCHEMES => Object.hasOwn(SCHEMES, scheme)

/** Undefined for a scheme that is not one of pushes. */
export const pushScheme = (scheme: string): PushScheme | 'engine' | undefined => (isPushed(scheme) ? SCHEMES[scheme] : undefined)
