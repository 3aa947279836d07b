import type { DataChannel, IceUdpMuxListener, PeerConnection, Track } from 'node-datachannel'
import { ApiError } from '../../lib/errors.ts'

type Library = Pick<typeof import('node-datachannel'), 'IceUdpMuxListener' | 'PeerConnection' | 'Video'>

/** What an offer says of the other side of a session: checked, and in words of our own. */
export interface RemotePeer {
  readonly ufrag: string
  readonly password: string
  /** Hash function and hash of its certificate, as in `a=fingerprint`. */
  readonly fingerprint: string
  readonly setup: 'actpass' | 'active' | 'passive'
  /** It takes data channels. */
  readonly hasData: boolean
  /** As in `a=candidate`. */
  readonly candidates: readonly string[]
}

/** What an answer says of this side. */
export interface LocalPeer {
  readonly ufrag: string
  readonly password: string
  readonly fingerprint: string
  readonly setup: string
  readonly candidates: readonly string[]
}

export interface Channel {
  readonly label: string
  /** Bytes that wait to be sent. */
  readonly queuedBytes: number
  /** Largest message that the other side takes, bytes. */
  readonly maxMessageBytes: number
  /** False when it is not open. */
  send(message: Buffer): boolean
}

/** The connection of one session: ICE, DTLS, SRTP and SCTP. */
export interface Peer {
  readonly local: LocalPeer
  /** Sends an RTP or RTCP packet. */
  send(packet: Buffer): void
  addCandidate(candidate: string): void
  /** Undefined when the connection has ended. */
  openChannel(label: string): Channel | undefined
  close(): void
}

/** What happens to a peer. Nothing is called after `close`. */
export interface PeerEvents {
  /** It takes packets. */
  readonly onConnected: () => void
  /** It is gone, or was never reached. */
  readonly onEnded: () => void
  readonly onRtcp: (packet: Buffer) => void
  /** The other side has opened a data channel. */
  readonly onChannel: (channel: Channel) => void
  /** Something has come on a data channel. */
  readonly onMessage: () => void
}

interface PeerAddress {
  /** All peers share it. */
  readonly port: number
  /** Undefined: any address of this host. */
  readonly bindAddress: string | undefined
}

export type ConnectPeer = (remote: RemotePeer, address: PeerAddress, events: PeerEvents) => Promise<Peer>

/** Local addresses are known at once; the library reports them from another thread. */
const GATHERING_MS = 5000
/** Largest message that is taken: nothing is expected. */
const MAX_MESSAGE_BYTES = 16 * 1024
/** Everything goes over one track of the library: it passes RTP and RTCP of every SSRC on, and does not look into RTCP then. */
const MEDIA_ID = '0'
const DATA_ID = '1'

let loading: Promise<ConnectPeer> | undefined

/** Loaded with the first session. NOT_IMPLEMENTED where the library has no binary. */
export const loadPeers = (): Promise<ConnectPeer> => {
  loading ??= import('node-datachannel').then(connectWith, (cause: unknown) => {
    throw notImplemented(cause)
  })
  return loading
}

const notImplemented = (cause: unknown): ApiError =>
  new ApiError(
    'NOT_IMPLEMENTED',
    `WebRTC does not run here: its library has no binary for ${process.platform} on ${process.arch}, or was not installed. Use /video, stream.ts or RTSP instead.`,
    { reason: 'no_webrtc' },
    { cause },
  )

export const connectWith = (library: Library): ConnectPeer => {
  const listeners = new Map<number, IceUdpMuxListener>()
  /**
   * Opens the port for as long as the process lives. Without a listener the library opens it with the first session and closes it with the
   * last one, and ends the process where it cannot be opened: another program may use it, or a child that was started meanwhile.
   */
  const listen = ({ port, bindAddress }: PeerAddress): void => {
    if (!listeners.has(port)) listeners.set(port, new library.IceUdpMuxListener(port, bindAddress))
  }
  return async (remote, address, events) => {
    const { port, bindAddress } = address
    let connection: PeerConnection | undefined
    try {
      listen(address)
      connection = new library.PeerConnection('', {
        iceServers: [],
        enableIceUdpMux: true,
        portRangeBegin: port,
        portRangeEnd: port,
        ...(bindAddress !== undefined && { bindAddress }),
        disableAutoNegotiation: true,
        forceMediaTransport: true,
        maxMessageSize: MAX_MESSAGE_BYTES,
      })
      const peer = new LibraryPeer(connection, events)
      await peer.negotiate(library, remote)
      return peer
    } catch (cause) {
      connection?.close()
      throw cannotConnect(port, cause)
    }
  }
}

const cannotConnect = (port: number, cause: unknown): ApiError =>
  new ApiError(
    'SERVICE_UNAVAILABLE',
    `The UDP port ${port} could not be opened for WebRTC. Stop the program that uses it, or set SVC_WEBRTC_PORT to another one.`,
    { reason: 'webrtc_port' },
    { cause },
  )

/**
 * What a call of the library answers. A connection ends in a thread of the library: what was open a moment ago throws, and `onEnded` is on
 * its way.
 */
const unlessEnded = <T>(call: () => T, otherwise: T): T => {
  try {
    return call()
  } catch {
    return otherwise
  }
}

class LibraryPeer implements Peer {
  readonly #connection: PeerConnection
  readonly #events: PeerEvents
  /** The library has no other reference to them. */
  readonly #channels: DataChannel[] = []
  #track: Track | undefined
  #local: LocalPeer | undefined
  #closed = false

  constructor(connection: PeerConnection, events: PeerEvents) {
    this.#connection = connection
    this.#events = events
    connection.onStateChange((state) => this.#onState(state))
    connection.onDataChannel((channel) => {
      const adopted = this.#closed ? undefined : unlessEnded(() => this.#adopt(channel), undefined)
      if (adopted !== undefined) events.onChannel(adopted)
    })
  }

  get local(): LocalPeer {
    if (this.#local === undefined) throw new Error('The peer has no local description')
    return this.#local
  }

  /** Takes the description of the other side, and waits for the own one. */
  async negotiate({ Video }: Library, remote: RemotePeer): Promise<void> {
    const media = new Video(MEDIA_ID, 'SendOnly')
    media.addH264Codec(PAYLOAD)
    this.#track = this.#connection.addTrack(media)
    this.#track.onMessage((packet) => {
      if (!this.#closed) this.#events.onRtcp(packet)
    })
    // A moment after the connection: what is sent in between is lost, such as the beginning of the first GOP.
    this.#track.onOpen(() => {
      if (!this.#closed) this.#events.onConnected()
    })
    const gathered = this.#untilGathered()
    this.#connection.setRemoteDescription(descriptionOf(remote), 'offer')
    for (const candidate of remote.candidates) this.addCandidate(candidate)
    this.#connection.setLocalDescription('answer')
    await gathered
    this.#local = parseLocal(this.#connection.localDescription()?.sdp ?? '')
  }

  send(packet: Buffer): void {
    if (!this.#closed) unlessEnded(() => this.#track?.sendMessageBinary(packet), false)
  }

  addCandidate(candidate: string): void {
    // One that it cannot read is passed over, as one that leads nowhere.
    if (!this.#closed) unlessEnded(() => this.#connection.addRemoteCandidate(`candidate:${candidate}`, MEDIA_ID), undefined)
  }

  openChannel(label: string): Channel | undefined {
    return this.#closed ? undefined : unlessEnded(() => this.#adopt(this.#connection.createDataChannel(label)), undefined)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const part of [...this.#channels, this.#track, this.#connection]) unlessEnded(() => part?.close(), undefined)
  }

  #onState(state: string): void {
    if (!this.#closed && ENDED.has(state)) this.#events.onEnded()
  }

  #untilGathered(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('No local addresses were found')), GATHERING_MS)
      this.#connection.onGatheringStateChange((state) => {
        if (state !== 'complete') return
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #adopt(channel: DataChannel): Channel {
    this.#channels.push(channel)
    channel.onMessage(() => {
      if (!this.#closed) this.#events.onMessage()
    })
    const whileOpen = <T>(call: () => T, otherwise: T): T =>
      this.#closed ? otherwise : unlessEnded(() => (channel.isOpen() ? call() : otherwise), otherwise)
    return {
      label: channel.getLabel(),
      get queuedBytes() {
        return whileOpen(() => channel.bufferedAmount(), 0)
      },
      get maxMessageBytes() {
        return whileOpen(() => channel.maxMessageSize(), 0)
      },
      send: (message) => whileOpen(() => channel.sendMessageBinary(message), false),
    }
  }
}

const ENDED: ReadonlySet<string> = new Set(['disconnected', 'failed', 'closed'])
/** Of the description that the library gets; packets carry those of the offer. */
const PAYLOAD = 96

/** The offer as the library gets it: nothing of the text of the other side that was not parsed. */
const descriptionOf = ({ ufrag, password, fingerprint, setup, hasData }: RemotePeer): string =>
  [
    'v=0',
    'o=- 1 1 IN IP4 127.0.0.1',
    's=-',
    't=0 0',
    `a=group:BUNDLE ${MEDIA_ID}${hasData ? ` ${DATA_ID}` : ''}`,
    `a=ice-ufrag:${ufrag}`,
    `a=ice-pwd:${password}`,
    `a=fingerprint:${fingerprint}`,
    `a=setup:${setupFor(setup, hasData)}`,
    `m=video 9 UDP/TLS/RTP/SAVPF ${PAYLOAD}`,
    'c=IN IP4 0.0.0.0',
    `a=mid:${MEDIA_ID}`,
    'a=recvonly',
    'a=rtcp-mux',
    `a=rtpmap:${PAYLOAD} H264/90000`,
    ...(hasData ? ['m=application 9 UDP/DTLS/SCTP webrtc-datachannel', 'c=IN IP4 0.0.0.0', `a=mid:${DATA_ID}`, 'a=sctp-port:5000'] : []),
    '',
  ].join('\r\n')

/**
 * Where it may, the player begins DTLS: it repeats its first message sooner than the library, whose first one may come too early. Not with
 * data channels, whose ids follow from who begins: aiortc does not respect that.
 */
const setupFor = (offered: RemotePeer['setup'], hasData: boolean): string => (offered === 'actpass' && !hasData ? 'active' : offered)

const parseLocal = (sdp: string): LocalPeer => {
  const lines = sdp.split(/\r?\n/)
  const all = (name: string): readonly string[] =>
    lines.filter((line) => line.startsWith(`a=${name}:`)).map((line) => line.slice(name.length + 3))
  const one = (name: string): string => {
    const [value] = all(name)
    if (value === undefined) throw new Error(`The local description has no ${name}`)
    return value
  }
  return {
    ufrag: one('ice-ufrag'),
    password: one('ice-pwd'),
    fingerprint: one('fingerprint'),
    setup: one('setup'),
    candidates: all('candidate'),
  }
}
