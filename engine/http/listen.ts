import type { Server } from 'node:http'
import type { ListenOptions } from 'node:net'
import type { Log } from '../../lib/ports.ts'

interface Listening {
  readonly log: Log
  readonly onListening: () => void
  /** The address cannot be listened at. */
  readonly onRefused: (error: Error) => void
}

/** Accepting fails for each connection while no descriptor is free. Milliseconds. */
const LOG_EVERY_MS = 60_000

/** Makes the server listen. A connection that cannot be accepted later on is logged: the next one may succeed. */
export const listen = (server: Server, address: ListenOptions, { log, onListening, onRefused }: Listening): void => {
  let loggedMs = Number.NEGATIVE_INFINITY
  server.on('error', (error) => {
    if (!server.listening) onRefused(error)
    else if (performance.now() - loggedMs >= LOG_EVERY_MS) {
      loggedMs = performance.now()
      log.error('engine_connection_refused', { error, advice: 'Raise the limit of open files (LimitNOFILE of systemd, ulimit -n).' })
    }
  })
  server.listen(address, onListening)
}
