import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'

export interface UdpPair {
  readonly rtp: Socket
  readonly rtcp: Socket
  readonly rtpPort: number
  readonly rtcpPort: number
}

const MAX_ATTEMPTS = 24

const bind = (address: string, port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    socket.once('error', (error) => {
      socket.close()
      reject(error)
    })
    socket.bind({ address, port, exclusive: true }, () => {
      socket.removeAllListeners('error')
      // A reader that closed its port causes errors here: the session ends by timeout or with its connection.
      socket.on('error', () => {})
      resolve(socket)
    })
  })

/** An even port and the odd one above it (RFC 3550 section 11), chosen by the kernel. Rejects when no pair is free. */
export const bindUdpPair = async (address: string): Promise<UdpPair> => {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const one = await bind(address, 0)
    const port = one.address().port
    const other = await bind(address, port % 2 === 0 ? port + 1 : port - 1).catch(() => undefined)
    if (other === undefined) one.close()
    else if (port % 2 === 0) return { rtp: one, rtcp: other, rtpPort: port, rtcpPort: port + 1 }
    else return { rtp: other, rtcp: one, rtpPort: port - 1, rtcpPort: port }
  }
  throw new Error('No pair of UDP ports is free')
}

export const closeUdpPair = (pair: UdpPair): void => {
  pair.rtp.close()
  pair.rtcp.close()
}

/** Connects a socket to its reader, so that the kernel drops packets from any other address. */
export const connectUdp = (socket: Socket, port: number, address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(error)
    socket.once('error', failed)
    socket.connect(port, address, () => {
      socket.off('error', failed)
      resolve()
    })
  })
