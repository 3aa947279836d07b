import { connect } from 'node:net'

/** When the server is looked for, milliseconds into the pause and from one look to the next. Short pauses need none. */
const LOOKS = { firstMs: 1000, everyMs: 2000 }
/** A host that is off does not answer at all. */
const CONNECT_WITHIN_MS = 1500

interface Server {
  readonly host: string
  readonly port: number
}

/**
 * Calls back once when a server that refused connections, or could not be reached, accepts one: a camera that was switched on is played
 * at once, however long the pause before the next attempt is. A server that accepts the first time is there, and the pause is
 * kept. Returns the function that ends the looks.
 */
export const onServerReturn = (server: Server, callback: () => void, { firstMs, everyMs } = LOOKS): (() => void) => {
  const over = new AbortController()
  let timer: NodeJS.Timeout
  const look = async (wasAway: boolean): Promise<void> => {
    const accepts = await acceptsConnection(server, over.signal)
    if (over.signal.aborted || (accepts && !wasAway)) return
    if (accepts) return callback()
    timer = setTimeout(look, everyMs, true)
  }
  timer = setTimeout(look, firstMs, false)
  return () => {
    clearTimeout(timer)
    over.abort()
  }
}

const acceptsConnection = ({ host, port }: Server, signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_WITHIN_MS })
    const end = (accepts: boolean) => (): void => {
      signal.removeEventListener('abort', away)
      socket.destroy()
      resolve(accepts)
    }
    const away = end(false)
    signal.addEventListener('abort', away)
    socket.once('connect', end(true)).once('timeout', away).on('error', away)
  })
