import { readFileSync } from 'node:fs'
import { type ConnectionOptions, connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import type { NatsServers } from '../../../lib/configuration/fleet.ts'
import { whyUnreadable } from '../../../lib/console/file-error.ts'

/** The servers of a fleet, and the file with the credentials for them. */
export interface NatsAccess {
  readonly nats: NatsServers
  readonly natsCredentials: string | undefined
}

/** To dial a server, milliseconds. */
const DIAL_MS = 5000
/**
 * A server that answers none of two pings at this interval is lost, milliseconds: writes to a dead network fail much later. Sooner than TCP
 * sends again for the sixth time (after 12.6 s): else an outage that ends after the fifth (6.2 s) would last until then.
 */
const PING_MS = 3000

/**
 * Connects once, to the first server that answers; the connection ends when it is lost. Another attempt reads the credentials again,
 * since their file may have been replaced. Throws what the library throws, and an Error for a file that cannot be read.
 */
export const connectOnce = (access: NatsAccess, options: Pick<ConnectionOptions, 'name' | 'inboxPrefix'>): Promise<NatsConnection> => {
  const { servers, tls, user, password, token } = access.nats
  return connect({
    ...options,
    servers: [...servers],
    ...(user !== undefined && { user, pass: password }),
    ...(token !== undefined && { token }),
    ...(access.natsCredentials !== undefined && { authenticator: credsAuthenticator(readCredentials(access.natsCredentials)) }),
    ...(tls && { tls: {} }),
    timeout: DIAL_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    reconnect: false,
    ignoreClusterUpdates: true,
  })
}

/** Throws an Error that names the file. */
export const readCredentials = (file: string): Uint8Array => {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new Error(`SVC_NATS_CREDENTIALS: ${file} cannot be read: ${whyUnreadable(error)}`, { cause: error })
  }
}
