import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { boundOf, clientOf, isThisHost } from '../../../lib/access/client-of.ts'
import type { Log } from '../../../lib/ports.ts'

interface AddressBounds {
  readonly connections: number
  /** How long an address is refused after one of its connections was closed for flooding, milliseconds. */
  readonly refuseMs: number
}

/** Most addresses that are refused at a time; beyond it the first one is forgotten. */
const MAX_REFUSED = 10_000

/**
 * Closes each connection of a client address beyond the bound, at once and unanswered; logs the first of each series. Returns a
 * function for a connection that floods: it closes all connections of the address before they are read, and refuses further ones for
 * a while. From this host, where many programs share an address, it closes that connection alone.
 */
export const limitPerAddress = (server: Server, { connections, refuseMs }: AddressBounds, log: Log): ((socket: Socket) => void) => {
  const open = new Map<string, Set<Socket>>()
  const clients = new WeakMap<Socket, string>()
  const atBound = new Set<string>()
  /** Until when, by performance.now(). */
  const refused = new Map<string, number>()

  const isRefused = (client: string): boolean => {
    const until = refused.get(client)
    if (until === undefined) return false
    if (performance.now() < until) return true
    refused.delete(client)
    return false
  }

  server.prependListener('connection', (socket) => {
    const client = clientOf(socket.remoteAddress)
    if (isRefused(client)) {
      socket.destroy()
      return
    }
    const own = open.get(client) ?? new Set()
    if (own.size >= boundOf(client, connections)) {
      if (!atBound.has(client)) log.warn('connection_refused', { client_address: client, connections: own.size })
      atBound.add(client)
      socket.destroy()
      return
    }
    open.set(client, own.add(socket))
    clients.set(socket, client)
    socket.once('close', () => {
      own.delete(socket)
      if (own.size > 0) return
      open.delete(client)
      atBound.delete(client)
    })
  })

  return (socket) => {
    const client = clients.get(socket)
    socket.destroy()
    if (client === undefined || isThisHost(client)) return
    refused.set(client, performance.now() + refuseMs)
    if (refused.size > MAX_REFUSED) refused.delete(refused.keys().next().value ?? client)
    for (const other of open.get(client) ?? []) other.destroy()
  }
}
