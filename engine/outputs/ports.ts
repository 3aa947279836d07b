import { createServer } from 'node:net'
import type { PortRange } from '../../lib/configuration/parsers.ts'
import { ApiError } from '../../lib/errors.ts'

/** Whether the port can be bound on an address right now. */
const canBind = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)))
  })

/**
 * The lowest port of the range that is not assigned to a pipeline and can be bound; a shared port may be assigned to several.
 * Throws SERVICE_UNAVAILABLE `no_free_port`.
 */
export const findFreePort = async (range: PortRange, host: string, isTaken: (port: number) => boolean): Promise<number> => {
  // The pipelines there may be listening, so binding it would prove nothing.
  if (range.shared && isTaken(range.first)) return range.first
  for (let port = range.first; port <= range.last; port += 1) {
    if (!isTaken(port) && (await canBind(host, port))) return port
  }
  throw new ApiError(
    'SERVICE_UNAVAILABLE',
    range.shared
      ? `The output port ${range.first} is used by another program. Stop that program, or set SVC_OUTPUT_PORTS to another port.`
      : `No output port of ${range.first}–${range.last} is free. Delete a pipeline, or widen the range with SVC_OUTPUT_PORTS.`,
    { reason: 'no_free_port' },
  )
}
