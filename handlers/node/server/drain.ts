import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** The open connections of a server with the number of running requests of each. */
const connections = new WeakMap<Server, Map<Socket, number>>()

/** Counts the running requests of each connection, so that `drain` knows the idle ones; the function that is returned tells them. */
export const trackConnections = (server: Server): ((socket: Socket) => number) => {
  const open = new Map<Socket, number>()
  connections.set(server, open)
  const count = (socket: Socket, change: number): void => {
    const requests = open.get(socket)
    if (requests !== undefined) open.set(socket, requests + change)
  }
  server.on('connection', (socket) => {
    open.set(socket, 0)
    socket.once('close', () => open.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    count(socket, 1)
    response.once('close', () => {
      count(socket, -1)
      // While the server drains, a connection is closed after its last request.
      if (!server.listening && open.get(socket) === 0) socket.destroySoon()
    })
  })
  return (socket) => open.get(socket) ?? 0
}

/**
 * Refuses new connections and lets running requests finish, for at most `ms` milliseconds. `closeIdleConnections()` alone would wait for connections
 * that never sent a request, such as the spare ones of browsers.
 */
export const drain = async (server: Server, ms: number): Promise<void> => {
  const closed = new Promise((resolve) => server.close(resolve))
  for (const [socket, requests] of connections.get(server) ?? []) if (requests === 0) socket.destroy()
  const timer = setTimeout(() => server.closeAllConnections(), ms)
  await closed
  clearTimeout(timer)
}
