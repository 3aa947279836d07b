import { within } from '../../lib/pause.ts'
import type { Child } from './child.ts'

/** The stop ladder: how long a child may take to end after each signal before it gets the next. */
const STOP_SIGNALS = [
  { signal: 'SIGINT', graceMs: 2000 },
  { signal: 'SIGTERM', graceMs: 2000 },
  { signal: 'SIGKILL', graceMs: 5000 },
] as const

/** Ends a child: SIGINT, then SIGTERM, then SIGKILL. Resolves when it is reaped. */
export const stopChild = async (child: Child): Promise<void> => {
  for (const { signal, graceMs } of STOP_SIGNALS) {
    child.kill(signal)
    if ((await within(child.ended, graceMs)) !== undefined) return
  }
}
