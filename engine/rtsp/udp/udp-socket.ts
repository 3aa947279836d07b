import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'

/** A socket at a local address; port 0 lets the kernel choose. */
export const bindUdp = (address: string, port: number, recvBufferSize?: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', recvBufferSize })
    socket.once('error', (error) => {
      socket.close()
      reject(error)
    })
    socket.bind({ address, port, exclusive: true }, () => {
      socket.removeAllListeners('error')
      // ICMP errors of sent packets: a peer that is gone also closes its RTSP connection, or its session times out.
      socket.on('error', () => {})
      resolve(socket)
    })
  })

/** Connects a socket to its peer, so that the kernel drops packets from any other address. */
export const connectUdp = (socket: Socket, port: number, address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(error)
    socket.once('error', failed)
    // The error of connect(2) comes to the callback alone.
    socket.connect(port, address, (error?: Error) => {
      socket.off('error', failed)
      if (error === undefined) resolve()
      else reject(error)
    })
  })
