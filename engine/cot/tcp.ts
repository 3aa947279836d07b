import { connect } from 'node:net'
import type { CotAddress } from '../../lib/schema/cot.ts'
import type { Dial } from './receiver.ts'

const CONNECT_WITHIN_MS = 10_000
/** A receiver that takes nothing for this long is given up, and what waits for it with it: it would come too late. Milliseconds. */
const DRAIN_WITHIN_MS = 5000
const MAX_UNSENT_BYTES = 1024 * 1024
const KEEP_ALIVE_MS = 10_000

/** Events over TCP, one XML document after the other, as TAK servers take them. */
export const dialTcp =
  ({ host, port }: CotAddress): Dial =>
  ({ open, lost }) => {
    const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS })
    let cause: unknown
    let ended = false
    let draining: NodeJS.Timeout | undefined
    const deadline = setTimeout(() => socket.destroy(new Error(`no connection within ${CONNECT_WITHIN_MS} ms`)), CONNECT_WITHIN_MS)
    socket.on('connect', () => {
      clearTimeout(deadline)
      open()
    })
    socket.on('drain', () => {
      clearTimeout(draining)
      draining = undefined
    })
    // Servers send the events of others too.
    socket.resume()
    socket.on('error', (error) => {
      cause = error
    })
    socket.on('close', () => {
      clearTimeout(deadline)
      clearTimeout(draining)
      if (!ended) lost(cause ?? new Error('the receiver closed the connection'))
    })
    return {
      get ownAddress() {
        return socket.localAddress ?? ''
      },
      write(event) {
        if (socket.writableLength + event.length > MAX_UNSENT_BYTES) return false
        if (!socket.write(event)) {
          draining ??= setTimeout(() => socket.destroy(new Error(`nothing was taken for ${DRAIN_WITHIN_MS} ms`)), DRAIN_WITHIN_MS)
        }
        return true
      },
      close() {
        ended = true
        socket.destroy()
      },
    }
  }
