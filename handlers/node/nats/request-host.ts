import { errors, type NatsConnection } from '@nats-io/transport-node'
import * as v from 'valibot'
import { type FleetAnswer, type FleetRequest, fleetAnswerSchema } from '../../../lib/fleet/fleet-hosts.ts'
import { apiSubject } from '../../../lib/fleet/names.ts'

/**
 * Sends a request to the API of a host; undefined when no host of this name is linked. Throws an Error for an answer of something else,
 * and what the library throws.
 */
export const requestHost = async (
  connection: NatsConnection,
  host: string,
  request: FleetRequest,
  timeoutMs: number,
): Promise<FleetAnswer | undefined> => {
  try {
    const message = await connection.request(apiSubject(host), JSON.stringify(request), { timeout: timeoutMs })
    const { success, output } = v.safeParse(fleetAnswerSchema, message.json())
    if (!success) throw new Error(`${host} answered something else than a host of this service.`)
    return output
  } catch (error) {
    if (isUnheard(error)) return undefined
    throw error
  }
}

const isUnheard = (error: unknown): boolean =>
  error instanceof errors.NoRespondersError || (error instanceof errors.RequestError && error.isNoResponders())
