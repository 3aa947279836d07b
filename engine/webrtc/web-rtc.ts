import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import { type ConnectPeer, loadPeers, type Peer, type PeerEvents, type RemotePeer } from './peer.ts'

/** Of the host; each needs about a megabyte. */
const MAX_SESSIONS = 1000
/** Sessions that are being connected: each is gone after 10 s at the latest. */
const MAX_CONNECTING = 100

interface WebRtcOptions {
  /** UDP port of all sessions; 0: none. */
  readonly port: number
  /** Names or addresses under which players reach this host; none: those of its network interfaces. */
  readonly hosts: readonly string[]
  /** Undefined: any address of this host. */
  readonly bindAddress: string | undefined
  readonly log: Log
}

/** Sessions by WebRTC, of all pipelines. */
export class WebRtc {
  readonly hosts: readonly string[]
  readonly port: number
  readonly log: Log
  readonly #bindAddress: string | undefined
  #sessions = 0
  #connecting = 0

  constructor({ port, hosts, bindAddress, log }: WebRtcOptions) {
    this.port = port
    this.hosts = hosts
    this.log = log
    this.#bindAddress = bindAddress
  }

  /** Loads what connects peers. NOT_IMPLEMENTED where there is none, or it is turned off. */
  async load(): Promise<ConnectPeer> {
    if (this.port === 0) {
      throw new ApiError('NOT_IMPLEMENTED', 'WebRTC is turned off here (SVC_WEBRTC_PORT=0). Use /video, stream.ts or RTSP instead.', {
        reason: 'no_webrtc',
      })
    }
    return loadPeers()
  }

  connect(connectPeer: ConnectPeer, remote: RemotePeer, events: PeerEvents): Promise<Peer> {
    return connectPeer(remote, { port: this.port, bindAddress: this.#bindAddress }, events)
  }

  /** Counts one more session; returns what ends it, and what says that it is connected. */
  enter(): { readonly connected: () => void; readonly leave: () => void } {
    if (this.#sessions >= MAX_SESSIONS || this.#connecting >= MAX_CONNECTING) throw sessionLimit()
    this.#sessions += 1
    this.#connecting += 1
    let [isConnecting, isOpen] = [true, true]
    const connected = (): void => {
      if (isConnecting) this.#connecting -= 1
      isConnecting = false
    }
    const leave = (): void => {
      connected()
      if (isOpen) this.#sessions -= 1
      isOpen = false
    }
    return { connected, leave }
  }
}

const sessionLimit = (): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', 'Too many sessions by WebRTC are open or being connected. Try again later.', {
    reason: 'session_limit',
  })
