import type { Server } from 'node:http'
import { boundOf } from '../../lib/access/client-limits.ts'
import { clientOf } from '../../lib/access/rate-limit.ts'
import type { Log } from '../../lib/ports.ts'

/** Closes each connection of a client address beyond the bound, at once and unanswered; logs the first of each series. */
export const limitPerAddress = (server: Server, bound: number, log: Log): void => {
  const open = new Map<string, number>()
  const atBound = new Set<string>()
  server.prependListener('connection', (socket) => {
    const client = clientOf(socket.remoteAddress)
    const count = open.get(client) ?? 0
    if (count >= boundOf(client, bound)) {
      if (!atBound.has(client)) log.warn('connection_refused', { client_address: client, connections: count })
      atBound.add(client)
      socket.destroy()
      return
    }
    open.set(client, count + 1)
    socket.once('close', () => {
      const left = (open.get(client) ?? 1) - 1
      if (left > 0) open.set(client, left)
      else {
        open.delete(client)
        atBound.delete(client)
      }
    })
  })
}
