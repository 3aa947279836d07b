import type { Configuration } from '../../lib/configuration.ts'

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
  if (clientAddressHeader !== undefined) return addressIn(headers.get(clientAddressHeader))
  if (trustProxy) return addressIn(headers.get('x-forwarded-for'))
  const { clientIp } = (cf ?? {}) as { readonly clientIp?: unknown }
  return typeof clientIp === 'string' ? withoutPort(clientIp) : undefined
}

const ADDRESS = /^[0-9A-Fa-f:.%]{2,64}$/

/** The last entry of a list: whoever passed the request on wrote that one. */
const addressIn = (header: string | null): string | undefined => {
  const last = header?.split(',').at(-1)?.trim() ?? ''
  return ADDRESS.test(last) ? last : undefined
}

/** `192.0.2.1:4711` and `[2001:db8::1]:4711` without the port. */
const withoutPort = (text: string): string => /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([^:]+):\d+$/.exec(text)?.[1] ?? text
