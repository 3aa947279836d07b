import type { Server } from 'node:http'
import type { Log } from '../../lib/ports.ts'
import { drain } from './drain.ts'
import type { Service } from './service.ts'

/** The process exits after this time even if something does not end, milliseconds. */
const SHUTDOWN_TIMEOUT_MS = 40_000

/**
 * A function that drains the servers, stops the service or leaves its engine running, and exits. A second call while the
 * first runs exits at once.
 */
export const createShutdown = ({ service, servers, log }: { service: Service; servers: readonly Server[]; log: Log }) => {
  let isStopping = false
  return async (reason: string, how: 'stop' | 'leave'): Promise<void> => {
    if (isStopping) return process.exit(1)
    isStopping = true
    log.info('service_stopping', { reason })
    service.prepareToStop()
    setTimeout(() => process.exit(1), SHUTDOWN_TIMEOUT_MS).unref()
    await Promise.all(servers.map(drain))
    await service[how]()
    process.exit(0)
  }
}
