import { createSocket, type Socket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { isIP, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { Readable } from 'node:stream'
import type { Address } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'

/** Holds a 4K access unit that arrives as a burst at 1 Gbit/s; net.core.rmem_max is the upper limit. */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024
/** Datagrams that wait for their reader, which is a child that starts; more are dropped. */
const MAX_WAITING = 16_384

/** RFC 5771, RFC 4291 section 2.7. */
export const isMulticast = (host: string): boolean => /^(?:22[4-9]|23\d)\.|^ff[0-9a-f]{2}:/i.test(host)

/** The datagrams that come to an address of this host or to a multicast group, one a chunk, until it is destroyed. Throws Fault. */
export const openDatagrams = async ({ host, port = 1234, query }: Address): Promise<Readable> => {
  const group = isMulticast(host)
  const address = await localAddress(host)
  const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', recvBufferSize: RECEIVE_BUFFER_BYTES, reuseAddr: group })
  try {
    await bind(socket, address, port)
    if (group) socket.addMembership(address, interfaceOf(query.get('iface'), isIPv6(address)))
  } catch (error) {
    socket.close()
    throw error instanceof Fault ? error : notBound(error)
  }
  return readable(socket)
}

const localAddress = async (host: string): Promise<string> => {
  if (isIP(host) !== 0) return host
  try {
    return (await lookup(host)).address
  } catch (cause) {
    throw new Fault('unreachable', `${host} cannot be found: the host name has no address.`, { cause })
  }
}

// A group may have several receivers. A packet to one host goes to only one of the sockets that share its port, so it has one.
const bind = (socket: Socket, address: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ address, port, exclusive: true }, () => {
      socket.removeListener('error', reject)
      socket.on('error', () => {})
      resolve()
    })
  })

/** As setsockopt takes it; undefined where the kernel chooses. */
const interfaceOf = (name: string | null, v6: boolean): string | undefined => {
  if (name === null) return undefined
  if (v6) return `::%${name}`
  const found = networkInterfaces()[name]?.find(({ family }) => family === 'IPv4')
  if (found === undefined)
    throw new Fault('source_error', `This host has no network interface ${name} with an IPv4 address. Correct iface.`)
  return found.address
}

const notBound = (cause: unknown): Fault =>
  new Fault(
    'source_error',
    'The engine cannot listen on the address of the source: it is not an address of this host, or another pipeline or program uses the port.',
    { cause },
  )

const readable = (socket: Socket): Readable => {
  const datagrams = new Readable({
    objectMode: true,
    read: () => {},
    destroy: (error, callback) => {
      socket.close()
      callback(error)
    },
  })
  socket.on('message', (datagram) => {
    if (datagrams.readableLength < MAX_WAITING) datagrams.push(datagram)
  })
  return datagrams
}
