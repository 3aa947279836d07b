import type { NatsConnection } from '@nats-io/transport-node'
import type { Stores } from '../nats/stores.ts'

/** A connection to the servers of the fleet, as its parts use it. */
export interface Linked {
  readonly connection: NatsConnection
  readonly stores: Stores
  /** Creates buckets and stream that do not exist; settles when it has been tried. */
  readonly create: () => Promise<void>
  /** Aborts when the connection is lost. */
  readonly signal: AbortSignal
}
