import { createSocket, type Socket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { CotAddress } from '../../lib/schema/cot.ts'
import type { Dial } from './receiver.ts'

/** Routers pass multicast on this many times; the default of 1 stays in the own network. */
const MULTICAST_TTL = 64

/** An event per datagram; a receiver that is not there is not noticed, as usual with UDP. */
export const dialUdp =
  ({ host, port }: CotAddress): Dial =>
  ({ open, lost }) => {
    let socket: Socket | undefined
    let [address, ownAddress] = ['', '']
    let ended = false
    const close = (): void => {
      if (!ended) socket?.close()
      ended = true
    }
    const fail = (error: unknown): void => {
      if (ended) return
      close()
      lost(error)
    }
    const start = async (): Promise<void> => {
      const found = isIP(host) === 0 ? await lookup(host) : { address: host, family: isIP(host) }
      if (ended) return
      address = found.address
      socket = createSocket(found.family === 6 ? 'udp6' : 'udp4')
      socket.on('error', fail)
      // Connected for a moment, to learn the address of this host on the route to the receiver.
      // The callback is called with the error of connect(2) too, such as EACCES for a broadcast address; there is no event then.
      socket.connect(port, address, (error?: Error) => {
        if (ended || socket === undefined) return
        if (error !== undefined) {
          fail(error)
          return
        }
        ownAddress = socket.address().address
        socket.disconnect()
        if (isMulticast(address)) socket.setMulticastTTL(MULTICAST_TTL)
        open()
      })
    }
    start().catch(fail)
    return {
      get ownAddress() {
        return ownAddress
      },
      write(event) {
        socket?.send(event, port, address, (error) => {
          if (error !== null) fail(error)
        })
        return true
      },
      close,
    }
  }

const isMulticast = (address: string): boolean => {
  const first = Number(/^\d+/.exec(address)?.[0])
  return address.includes(':') ? /^ff/i.test(address) : first >= 224 && first <= 239
}
