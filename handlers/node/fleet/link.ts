import type { NatsConnection } from '@nats-io/transport-node'
import { Backoff } from '../../../lib/backoff.ts'
import { messageOf } from '../../../lib/errors.ts'
import { pause, within } from '../../../lib/pause.ts'
import type { Log } from '../../../lib/ports.ts'

/** Short, so that what was desired meanwhile comes soon after an outage. */
const RETRY = { initial_delay_ms: 500, max_delay_seconds: 2 }

/** For what uses a lost connection to notice it: none of that may keep the next one from being made. Milliseconds. */
const ENDED_WITHIN_MS = 2000

interface LinkOptions {
  /** One attempt. */
  readonly connect: () => Promise<NatsConnection>
  /** Uses a connection until the signal aborts, which it does when the connection is lost. */
  readonly use: (connection: NatsConnection, signal: AbortSignal) => Promise<void>
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * Keeps a connection to the servers of the fleet, until the signal aborts. Each one begins anew: what was asked and subscribed over the
 * last one is gone with it. The log has each reason for a failure once in a row.
 */
export const keepLink = async ({ connect, use, log, signal }: LinkOptions): Promise<void> => {
  const backoff = new Backoff()
  let logged: string | undefined
  const logFailure = (error: unknown): void => {
    const reason = messageOf(error)
    if (reason !== logged && !signal.aborted) log.warn('fleet_not_linked', { error: reason })
    logged = reason
  }
  while (!signal.aborted) {
    try {
      const connection = await connect()
      log.info('fleet_connected', { server: connection.getServer(), server_version: connection.info?.version })
      backoff.reset()
      logged = undefined
      await useUntilLost(connection, use, signal)
      logFailure(new Error('the connection was lost'))
    } catch (error) {
      logFailure(error)
    }
    await pause(backoff.next(RETRY), signal)
  }
}

/** Throws why the connection was lost, if that is known, and what `use` throws. */
const useUntilLost = async (connection: NatsConnection, use: LinkOptions['use'], signal: AbortSignal): Promise<void> => {
  const lost = new AbortController()
  const end = (): void => {
    lost.abort()
    connection.close().catch(() => {})
  }
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  const used = use(connection, lost.signal).then(
    () => undefined,
    (error: unknown) => {
      end()
      return error
    },
  )
  try {
    const reason = await connection.closed()
    lost.abort()
    const failure = (await within(used, ENDED_WITHIN_MS)) ?? reason
    if (failure instanceof Error) throw failure
  } finally {
    signal.removeEventListener('abort', end)
  }
}
