import type { Server } from 'node:http'
import type { Socket } from 'node:net'

interface Connection {
  /** Requests without a whole answer. */
  running: number
}

/** The open connections of each server. */
const connections = new WeakMap<Server, Map<Socket, Connection>>()

/** Counts the running requests of each connection, for `drain`; returns the function that reads the count. */
export const trackConnections = (server: Server): ((socket: Socket) => number) => {
  const open = new Map<Socket, Connection>()
  connections.set(server, open)
  server.on('connection', (socket) => {
    open.set(socket, { running: 0 })
    socket.once('close', () => open.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    const connection = open.get(socket)
    if (connection === undefined) return
    connection.running += 1
    response.once('close', () => {
      connection.running -= 1
      // While the server drains, a connection is closed after its last request.
      if (!server.listening && connection.running === 0) socket.destroySoon()
    })
  })
  return (socket) => open.get(socket)?.running ?? 0
}

/**
 * Refuses new connections and lets running requests finish, for at most `ms` milliseconds. `closeIdleConnections()` alone would wait for connections
 * that never sent a request, such as the spare ones of browsers.
 */
export const drain = async (server: Server, ms: number): Promise<void> => {
  const closed = new Promise((resolve) => server.close(resolve))
  for (const [socket, { running }] of connections.get(server) ?? []) if (running === 0) socket.destroy()
  const timer = setTimeout(() => server.closeAllConnections(), ms)
  await closed
  clearTimeout(timer)
}
