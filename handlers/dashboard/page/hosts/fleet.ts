import { signal } from '@preact/signals'
import type { Client } from '../../../client/client.ts'
import { api, reasonOf, wordsOf } from '../api/api.ts'
import { whileVisible } from '../api/follow.ts'

export type Fleet = Awaited<ReturnType<Client['listFleetHosts']>>
/** A host of the fleet as it has reported. */
export type Host = Fleet['hosts'][number]

/** The hosts of the fleet; undefined until they are known. */
export const fleet = signal<Fleet | undefined>(undefined)
/** Why they cannot be read; undefined when they were. */
export const fleetFault = signal<{ readonly text: string; readonly reason: string | undefined } | undefined>(undefined)

/** Hosts report changes at once. */
const POLL_MS = 5000

/** Keeps `fleet` up to date until the signal aborts. */
export const followFleet = (end: AbortSignal): void =>
  void whileVisible(end, async () => {
    try {
      fleet.value = await api.listFleetHosts({ signal: end })
      fleetFault.value = undefined
    } catch (error) {
      if (!end.aborted) fleetFault.value = { text: wordsOf(error), reason: reasonOf(error) }
    }
    return POLL_MS
  })
