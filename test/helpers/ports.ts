import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

// Above the ephemeral ports of Linux (32768 to 60999): between the moment when a test is given a port and the one when it listens
// there, no program gets it by listening at port 0. Processes that run at once begin at different ports.
const FIRST = 61_000
const COUNT = 4_500
let next = (process.pid * 37) % COUNT

const freeOf = async (kind: 'TCP' | 'UDP', isFree: (port: number) => Promise<boolean>): Promise<number> => {
  for (let tried = 0; tried < COUNT; tried += 1) {
    const port = FIRST + next
    next = (next + 1) % COUNT
    if (await isFree(port)) return port
  }
  throw new Error(`every ${kind} port of the tests is used`)
}

/** A TCP port that is free; no other call of this process gets it. */
export const freePort = (host = '127.0.0.1'): Promise<number> => freeOf('TCP', (port) => canListen(port, host))

/** A UDP port that is free; no other call of this process gets it. */
export const freeUdpPort = (): Promise<number> =>
  freeOf(
    'UDP',
    (port) =>
      new Promise((resolve) => {
        const socket = createSocket('udp4')
        socket.once('error', () => resolve(false))
        socket.bind(port, '127.0.0.1', () => socket.close(() => resolve(true)))
      }),
  )

/** Whether a TCP port can be listened at, at every address of this host. */
export const portIsFree = (port: number): Promise<boolean> => canListen(port, '0.0.0.0')

const canListen = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, host, () => probe.close(() => resolve(true)))
  })
