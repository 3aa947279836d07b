import type { Socket } from 'node:dgram'
import { openPortPair } from '../../udp/port-pair.ts'
import { connectUdp } from '../../udp/udp-socket.ts'
import { openDatagramPort } from './datagram-port.ts'
import type { RtpPort } from './rtp-port.ts'
import { loadSegmentation } from './segmented-port.ts'

/** The two ports of a track that is sent over UDP (RFC 3550 section 11), connected to those of the reader. */
export interface UdpPair {
  readonly rtp: RtpPort
  readonly rtcp: Socket
  readonly rtcpPort: number
}

interface PairAddresses {
  readonly localAddress: string
  readonly remoteAddress: string
  /** Ports of the reader. */
  readonly rtpPort: number
  readonly rtcpPort: number
}

/** Opens the pair. Rejects when none is free or the reader cannot be reached. */
export const openUdpPair = async ({ localAddress, remoteAddress, rtpPort, rtcpPort }: PairAddresses): Promise<UdpPair> => {
  const openRtp = (await loadSegmentation()) ?? openDatagramPort
  const { rtp, rtcp } = await openPortPair(localAddress, () => openRtp({ localAddress, remoteAddress, remotePort: rtpPort }))
  const pair = { rtp, rtcp, rtcpPort: rtp.port + 1 }
  try {
    await connectUdp(rtcp, rtcpPort, remoteAddress)
    return pair
  } catch (error) {
    closeUdpPair(pair)
    throw error
  }
}

export const closeUdpPair = (pair: UdpPair): void => {
  pair.rtp.close()
  pair.rtcp.close()
}
