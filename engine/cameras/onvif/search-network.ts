import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { ApiError, messageOf } from '../../../lib/errors.ts'
import { pause } from '../../../lib/pause.ts'
import type { NetworkCamera } from '../../../lib/schema/camera.ts'
import { probeMessages, readProbeMatches } from './probe.ts'
import { XmlFault } from './xml.ts'

/** Of WS-Discovery (section 2.4), for IPv4. */
const GROUP = '239.255.255.250'
const PORT = 3702
/** A datagram may be lost. */
const SEND_AGAIN_MS = 500
const MAX_INTERFACES = 16
const MAX_CAMERAS = 256
/** Of one search, from all hosts: reading one takes a part of a millisecond. */
const MAX_DATAGRAMS = 512
/** An answer has some 2 KB. */
const MAX_BYTES = 16 * 1024

interface SearchOptions {
  /** How long answers are awaited, milliseconds. */
  readonly ms: number
  /** Own addresses to search from; those of all networks of this host unless given. */
  readonly from?: readonly string[]
}

/**
 * The cameras that answer a probe of WS-Discovery in the networks of this host, in order of their addresses, 256 at most. SERVICE_UNAVAILABLE
 * with `details.reason` no_network where no network can be asked.
 */
export const searchNetwork = async ({ ms, from = ownAddresses() }: SearchOptions): Promise<NetworkCamera[]> => {
  const found = new Map<string, NetworkCamera>()
  let datagrams = 0
  const onMessage = (message: Buffer, { address }: { readonly address: string }): void => {
    datagrams += 1
    if (datagrams > MAX_DATAGRAMS || message.length > MAX_BYTES) return
    for (const { endpoint, ...camera } of matchesOf(message, address))
      if (found.size < MAX_CAMERAS && !found.has(endpoint)) found.set(endpoint, camera)
  }
  const opened = await Promise.allSettled(from.slice(0, MAX_INTERFACES).map((address) => openSocket(address, onMessage)))
  const sockets = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  try {
    if (sockets.length === 0) throw noNetwork(opened)
    const messages = probeMessages()
    for (const wait of [SEND_AGAIN_MS, ms]) {
      // Where one network is down the others still answer.
      for (const socket of sockets) for (const message of messages) socket.send(message, PORT, GROUP, () => {})
      await pause(wait)
    }
  } finally {
    for (const socket of sockets) socket.close()
  }
  return [...found.values()].sort((one, other) => one.address.localeCompare(other.address, 'en', { numeric: true }))
}

/** Anybody may answer with anything. */
const matchesOf = (message: Buffer, sender: string): ReturnType<typeof readProbeMatches> => {
  try {
    return readProbeMatches(message.toString(), sender)
  } catch (error) {
    if (error instanceof XmlFault) return []
    throw error
  }
}

const openSocket = async (address: string, onMessage: (message: Buffer, sender: { readonly address: string }) => void): Promise<Socket> => {
  const socket = createSocket('udp4', onMessage)
  try {
    socket.bind(0, address)
    await once(socket, 'listening')
    socket.setMulticastInterface(address)
    socket.setMulticastTTL(1)
  } catch (error) {
    socket.close()
    throw error
  }
  // Such as a network that goes away.
  socket.on('error', () => {})
  return socket
}

const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).flatMap(({ family, internal, address }) => (family === 'IPv4' && !internal ? [address] : [])),
  )

const noNetwork = (opened: readonly PromiseSettledResult<Socket>[]): ApiError => {
  const failed = opened.find((each) => each.status === 'rejected')
  const why = failed === undefined ? '' : ` (${messageOf(failed.reason)})`
  return new ApiError('SERVICE_UNAVAILABLE', `This host has no IPv4 network to search for cameras${why}. Connect it, then try again.`, {
    reason: 'no_network',
  })
}
