import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { receiverNotFound } from './faults.ts'

/** The IP address of the host of a receiver. Fault unreachable when its name has none now; the reason of the signal when that aborts. */
export const receiverAddress = async (host: string, signal: AbortSignal): Promise<string> => {
  if (isIP(host) !== 0) return host
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    signal.throwIfAborted()
    // A name server that hangs would hold up the end of the push.
    const found = lookup(host).catch((error: unknown) => Promise.reject(receiverNotFound(error)))
    return (await Promise.race([found, aborted.promise])).address
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
