import { forwardedAddress, withoutPort } from '../../lib/access/forwarded-address.ts'
import type { Configuration } from '../../lib/configuration/configuration.ts'

/** What a runtime may say about the connection of a request; workerd by itself states `clientIp`, with the port. */
interface ConnectedRequest {
  readonly headers: Headers
  readonly cf?: unknown
}

type Trusted = Pick<Configuration, 'trustProxy' | 'clientAddressHeader'>

/**
 * The address of the client, from a source that the client cannot write: the header field that the platform writes
 * (SVC_CLIENT_ADDRESS_HEADER), the last entry of X-Forwarded-For (SVC_TRUST_PROXY), or the runtime itself. Undefined when none
 * is known; all such clients share their rate limits.
 */
export const clientAddressOf = ({ headers, cf }: ConnectedRequest, { trustProxy, clientAddressHeader }: Trusted): string | undefined => {
  if (clientAddressHeader !== undefined) return forwardedAddress(headers.get(clientAddressHeader))
  if (trustProxy) return forwardedAddress(headers.get('x-forwarded-for'))
  const { clientIp } = (cf ?? {}) as { readonly clientIp?: unknown }
  return typeof clientIp === 'string' ? withoutPort(clientIp) : undefined
}
