import { forwardedAddress, withoutPort } from '../../lib/access/forwarded-address.ts'
import type { Configuration } from '../../lib/configuration/configuration.ts'

/** A request with the runtime's facts about its connection; workerd has `clientIp`, with the port. */
interface ConnectedRequest {
  readonly headers: Headers
  readonly cf?: unknown
}

type Trusted = Pick<Configuration, 'trustProxy' | 'clientAddressHeader'>

/**
 * The address of the client, from a source that the client cannot forge: the header field of the platform (SVC_CLIENT_ADDRESS_HEADER),
 * the last entry of X-Forwarded-For (SVC_TRUST_PROXY), or the runtime itself. Undefined when unknown; such clients share their rate
 * limits.
 */
export const clientAddressOf = ({ headers, cf }: ConnectedRequest, { trustProxy, clientAddressHeader }: Trusted): string | undefined => {
  if (clientAddressHeader !== undefined) return forwardedAddress(headers.get(clientAddressHeader))
  if (trustProxy) return forwardedAddress(headers.get('x-forwarded-for'))
  const { clientIp } = (cf ?? {}) as { readonly clientIp?: unknown }
  return typeof clientIp === 'string' ? withoutPort(clientIp) : undefined
}
