import { signal } from '@preact/signals'
import { api } from './api.ts'
import { whileVisible } from './follow.ts'
import type { Health } from './types.ts'

/** The last two reports of the host's health, the newest first. */
export const healthReports = signal<readonly Health[]>([])

/** A change is seen after this time; a problem may pass sooner. */
const CHECK_MS = 15_000
const CHECK_AGAIN_MS = 3000

/** Keeps `healthReports` up to date until the signal aborts. */
export const followHealth = (abort: AbortSignal): void =>
  void whileVisible(abort, async () => {
    await readHealth(abort)
    const [health] = healthReports.peek()
    return health?.status === 'ok' && health.database === 'ok' ? CHECK_MS : CHECK_AGAIN_MS
  })

/** For a change that this page made. */
export const readHealth = async (abort?: AbortSignal): Promise<void> => {
  try {
    const health = await api.getHealth({ signal: abort })
    healthReports.value = [health, ...healthReports.peek().slice(0, 1)]
  } catch {
    // The bar shows a lost connection.
  }
}
