import { isRefused } from '../../node/nats/causes.ts'
import { UsageError } from '../command-line/arguments.ts'
import type { Run, Session } from '../command-line/session.ts'
import { usageOf } from '../command-line/verbs.ts'
import { applyFleet } from './apply-fleet.ts'
import { callHost } from './call-host.ts'
import { followEvents } from './follow-events.ts'
import { listHosts, showHost } from './list-hosts.ts'
import { type FleetConnection, openFleetConnection } from './open.ts'

interface Action {
  /** Least and most words after its name. */
  readonly words: readonly [number, number]
  readonly run: (session: Session, fleet: FleetConnection, words: readonly string[]) => Promise<number>
}

const ACTIONS: Readonly<Record<string, Action>> = {
  ls: { words: [0, 0], run: listHosts },
  get: { words: [1, 1], run: (session, fleet, [host = '']) => showHost(session, fleet, host) },
  apply: { words: [0, Number.POSITIVE_INFINITY], run: applyFleet },
  api: { words: [3, 3], run: callHost },
  events: { words: [0, 1], run: (session, fleet, [host]) => followEvents(session, fleet, host) },
}

/** Shows and changes a fleet over its NATS servers. */
export const fleet: Run = async (session) => {
  const [name = '', ...words] = session.given.operands
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
  const [least, most] = action?.words ?? [0, 0]
  if (action === undefined || words.length < least || words.length > most) throw new UsageError(usageOf('fleet'))
  const opened = await openFleetConnection(process.env)
  try {
    return await action.run(session, opened, words)
  } catch (error) {
    if (!isRefused(error)) throw error
    throw new Error(
      'The servers of the fleet do not let this user do that. Use one with all rights, as the admin of the page “A fleet” of the documents.',
      { cause: error },
    )
  } finally {
    await opened.connection.close()
  }
}
