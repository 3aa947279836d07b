import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** How long requests may take to end after SIGTERM before their connections are closed, milliseconds. */
const DRAIN_MS = 5000

/** The open connections of a server, and how many requests each of them is answering. */
const connections = new WeakMap<Server, Map<Socket, number>>()

/** Follows the connections of a server, so that `drain` can tell which of them only stay open. */
export const followConnections = (server: Server): void => {
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
      // The server takes no connections any more: one whose request has ended is kept for nothing.
      if (!server.listening && open.get(socket) === 0) socket.destroySoon()
    })
  })
}

/**
 * No new connections; those with a request in flight may end it. `closeIdleConnections()` alone would wait for
 * connections that never sent a request, such as the spare ones of browsers.
 */
export const drain = async (server: Server): Promise<void> => {
  const closed = new Promise((resolve) => server.close(resolve))
  for (const [socket, requests] of connections.get(server) ?? []) if (requests === 0) socket.destroy()
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  await closed
  clearTimeout(timer)
}
