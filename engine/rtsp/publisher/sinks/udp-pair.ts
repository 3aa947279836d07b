import type { Socket } from 'node:dgram'
import { bindUdp, connectUdp, openDatagramPort } from './datagram-port.ts'
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

const MAX_ATTEMPTS = 24

/** An even port and the odd one above it, chosen by the kernel. Rejects when no pair is free or the reader cannot be reached. */
export const openUdpPair = async ({ localAddress, remoteAddress, rtpPort, rtcpPort }: PairAddresses): Promise<UdpPair> => {
  const openRtp = (await loadSegmentation()) ?? openDatagramPort
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const rtp = await openRtp({ localAddress, remoteAddress, remotePort: rtpPort })
    const rtcp = rtp.port % 2 === 0 ? await bindUdp(localAddress, rtp.port + 1).catch(() => undefined) : undefined
    if (rtcp === undefined) {
      rtp.close()
      continue
    }
    const pair = { rtp, rtcp, rtcpPort: rtp.port + 1 }
    try {
      await connectUdp(rtcp, rtcpPort, remoteAddress)
      return pair
    } catch (error) {
      closeUdpPair(pair)
      throw error
    }
  }
  throw new Error('No pair of UDP ports is free')
}

export const closeUdpPair = (pair: UdpPair): void => {
  pair.rtp.close()
  pair.rtcp.close()
}
