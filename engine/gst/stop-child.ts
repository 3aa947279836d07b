import { within } from '../../lib/pause.ts'
import type { Child } from './child.ts'
import { onLine } from './on-line.ts'

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

/** What gst-launch-1.0 prints for the error message of an element. */
const ERROR = /^ERROR: from element /
const ERROR_GRACE_MS = 500

/** gst-launch-1.0 1.22 ends at an error by itself, but not always at one that comes before the preroll. */
export const stopAfterError = (child: Child): void => {
  let timer: NodeJS.Timeout | undefined
  onLine(child.stderr, (line) => {
    if (ERROR.test(line)) timer ??= setTimeout(() => void stopChild(child), ERROR_GRACE_MS)
  })
  void child.ended.then(() => clearTimeout(timer))
}
