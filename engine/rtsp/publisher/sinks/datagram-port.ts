import type { Socket } from 'node:dgram'
import type { Datagrams } from '../../../rtp/access-unit.ts'
import { bindUdp, connectUdp } from '../../udp/udp-socket.ts'
import { type PortAddresses, Refusals, type RtpPort } from './rtp-port.ts'

/** Bytes that may wait in a socket. */
const MAX_SOCKET_BYTES = 256 * 1024

/** Sends with node:dgram, a system call for each packet. */
export const openDatagramPort = async ({ localAddress, remoteAddress, remotePort }: PortAddresses): Promise<RtpPort> => {
  const socket = await bindUdp(localAddress, 0)
  try {
    await connectUdp(socket, remotePort, remoteAddress)
    return new DatagramPort(socket)
  } catch (error) {
    socket.close()
    throw error
  }
}

class DatagramPort implements RtpPort {
  readonly port: number
  readonly #socket: Socket
  readonly #refusals = new Refusals()

  constructor(socket: Socket) {
    this.#socket = socket
    this.port = socket.address().port
    // The host of a closed port answers with ICMP, which the kernel reports on a connected socket.
    socket.on('error', () => this.#refusals.add())
  }

  get refusedSinceMs(): number | undefined {
    return this.#refusals.sinceMs()
  }

  send({ data, starts }: Datagrams, from: number, limit: number): number {
    const to = Math.min(from + limit, starts.length - 1)
    let at = from
    while (at < to && this.#socket.getSendQueueSize() < MAX_SOCKET_BYTES) {
      this.#socket.send(data.subarray(starts[at], starts[at + 1]), this.#sent)
      at += 1
    }
    return at - from
  }

  close(): void {
    this.#socket.close()
  }

  readonly #sent = (error: Error | null): void => {
    if (error !== null) this.#refusals.add()
  }
}
