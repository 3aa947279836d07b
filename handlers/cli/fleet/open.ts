import type { NatsConnection } from '@nats-io/transport-node'
import { natsServers } from '../../../lib/configuration/fleet.ts'
import { messageOf } from '../../../lib/errors.ts'
import { connectOnce } from '../../node/nats/connect.ts'
import { openStores, type Stores } from '../../node/nats/stores.ts'
import { UsageError } from '../command-line/arguments.ts'

/** A connection to the servers of a fleet. */
export interface FleetConnection {
  readonly connection: NatsConnection
  readonly stores: Stores
}

type Environment = Readonly<Record<string, string | undefined>>

/** Connects as the variables of the service say. Throws UsageError without them, and an Error when no server lets this user in. */
export const openFleetConnection = async ({ SVC_NATS_URL, SVC_NATS_CREDENTIALS }: Environment): Promise<FleetConnection> => {
  if (!SVC_NATS_URL)
    throw new UsageError('Set SVC_NATS_URL to the servers of the fleet, such as tls://admin:password@nats.example.org:4222.')
  const parsed = natsServers(SVC_NATS_URL)
  if ('mistake' in parsed) throw new UsageError(`SVC_NATS_URL: ${parsed.mistake}.`)
  const access = { nats: parsed.value, natsCredentials: SVC_NATS_CREDENTIALS || undefined }
  try {
    const connection = await connectOnce(access, { name: 'video-pipeline-service fleet' })
    return { connection, stores: await openStores(connection) }
  } catch (error) {
    throw new Error(`No server of the fleet at ${parsed.value.servers.join(', ')} lets this user in: ${messageOf(error)}`, { cause: error })
  }
}
