import type { Socket } from 'node:dgram'
import type { ServerPorts } from '../protocol/transport.ts'
import { openPortPair } from '../udp/port-pair.ts'
import { bindUdp } from '../udp/udp-socket.ts'

/** The two ports of a track that comes over UDP (RFC 3550 section 11). */
interface UdpReceiver {
  /** An even port, and the odd one above it. */
  readonly rtpPort: number
  readonly rtcpPort: number
  /** Calls back for each packet from the address of the server's connection, or from the one that it names. */
  listen(handlers: UdpHandlers, namedSource: string | undefined): void
  /** Sends RTCP to the server; what cannot be sent is dropped, as the network may do. */
  sendRtcp(packet: Buffer, port: number | undefined): void
  /** Sends empty packets to these ports of the server, so that firewalls and NAT on the way let its packets pass. */
  openPath(server: Pick<ServerPorts, 'rtp' | 'rtcp'>): void
  close(): void
}

interface UdpHandlers {
  readonly onRtp: (packet: Buffer) => void
  readonly onRtcp: (packet: Buffer) => void
}

/** A key frame comes in one burst, also while the event loop is busy; the kernel grants at most net.core.rmem_max. */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024
/** A packet of RTP without payload, version 2: servers drop it. */
const EMPTY_RTP = Buffer.from('800000000000000000000000', 'hex')
/** A receiver report without blocks (RFC 3550 section 6.4.2). */
const EMPTY_REPORT = Buffer.from('80c9000100000000', 'hex')

/** Opens a pair of ports at the local address of the connection to the server. Rejects when no pair is free. */
export const openUdpReceiver = async (localAddress: string, serverAddress: string): Promise<UdpReceiver> => {
  const openRtp = async () => {
    const socket = await bindUdp(localAddress, 0, RECEIVE_BUFFER_BYTES)
    return { socket, port: socket.address().port, close: () => socket.close() }
  }
  const { rtp, rtcp } = await openPortPair(localAddress, openRtp)
  return receiver(rtp.socket, rtcp, serverAddress)
}

const isPort = (port: number | undefined): port is number => port !== undefined && port > 0

const receiver = (rtp: Socket, rtcp: Socket, serverAddress: string): UdpReceiver => {
  const send = (socket: Socket, packet: Buffer, port: number): void => socket.send(packet, port, serverAddress, () => {})
  return {
    rtpPort: rtp.address().port,
    rtcpPort: rtcp.address().port,
    listen: ({ onRtp, onRtcp }, namedSource) => {
      const isOfServer = ({ address }: { readonly address: string }): boolean => address === serverAddress || address === namedSource
      rtp.on('message', (packet, from) => isOfServer(from) && onRtp(packet))
      rtcp.on('message', (packet, from) => isOfServer(from) && onRtcp(packet))
    },
    sendRtcp: (packet, port) => {
      if (isPort(port)) send(rtcp, packet, port)
    },
    openPath: (server) => {
      if (isPort(server.rtp)) send(rtp, EMPTY_RTP, server.rtp)
      if (isPort(server.rtcp)) send(rtcp, EMPTY_REPORT, server.rtcp)
    },
    close: () => {
      rtp.close()
      rtcp.close()
    },
  }
}
