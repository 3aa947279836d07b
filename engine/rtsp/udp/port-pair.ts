import type { Socket } from 'node:dgram'
import { bindUdp } from './udp-socket.ts'

const MAX_ATTEMPTS = 24

interface RtpEnd {
  readonly port: number
  close(): void
}

/**
 * The two ports of a track over UDP (RFC 3550 section 11), chosen by the kernel: `openRtp` opens one at the address until its number is
 * even and the odd one above it is free. Rejects when no pair is free.
 */
export const openPortPair = async <Rtp extends RtpEnd>(
  localAddress: string,
  openRtp: () => Promise<Rtp>,
): Promise<{ readonly rtp: Rtp; readonly rtcp: Socket }> => {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const rtp = await openRtp()
    const rtcp = rtp.port % 2 === 0 ? await bindUdp(localAddress, rtp.port + 1).catch(() => undefined) : undefined
    if (rtcp !== undefined) return { rtp, rtcp }
    rtp.close()
  }
  throw new Error('No pair of UDP ports is free')
}
