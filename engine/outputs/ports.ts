import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { PortRange } from '../../lib/configuration.ts'
import { ApiError } from '../../lib/errors.ts'

/** Whether the port can be bound on all IPv4 addresses right now. */
const canBind = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: '0.0.0.0', exclusive: true }, () => probe.close(() => resolve(true)))
  })

/** The lowest port of the range that is not assigned to a pipeline and can be bound. Throws SERVICE_UNAVAILABLE `no_free_port`. */
export const findFreePort = async (range: PortRange, isTaken: (port: number) => boolean): Promise<number> => {
  for (let port = range.first; port <= range.last; port += 1) {
    if (!isTaken(port) && (await canBind(port))) return port
  }
  throw new ApiError(
    'SERVICE_UNAVAILABLE',
    `No output port of ${range.first}–${range.last} is free. Delete a pipeline, or widen the range with SVC_OUTPUT_PORTS.`,
    { reason: 'no_free_port' },
  )
}

/** Whether an output host is "any address" or an address of this machine. */
export const isOwnAddress = (host: string): boolean => {
  if (host === '0.0.0.0' || host === '::' || host === '::1' || host.startsWith('127.')) return true
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return addresses.some(({ address }) => address.toLowerCase() === host.toLowerCase())
}
