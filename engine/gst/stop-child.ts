import type { Readable } from 'node:stream'
import { within } from '../../lib/pause.ts'

interface Stoppable {
  readonly stderr: Readable
  readonly ended: Promise<unknown>
  kill(signal: NodeJS.Signals): void
}

/** The stop ladder: how long a child may take to end after each signal before it gets the next. */
const STOP_SIGNALS = [
  { signal: 'SIGINT', graceMs: 2000 },
  { signal: 'SIGTERM', graceMs: 2000 },
  { signal: 'SIGKILL', graceMs: 5000 },
] as const

/** Ends a child: SIGINT, then SIGTERM, then SIGKILL. Resolves when it is reaped. */
export const stopChild = async (child: Omit<Stoppable, 'stderr'>): Promise<void> => {
  for (const { signal, graceMs } of STOP_SIGNALS) {
    child.kill(signal)
    if ((await within(child.ended, graceMs)) !== undefined) return
  }
}

/** What gst-launch-1.0 prints for the error message of an element. */
const ERROR = 'ERROR: from element '
const ERROR_GRACE_MS = 500

/**
 * Stops a gst-launch-1.0 that has not ended half a second after the error of an element. It quits its main loop from the thread of
 * the element (1.22): that has no effect when its main thread does not run the loop yet, and then it would wait forever.
 */
export const stopAfterError = (child: Stoppable, stop: () => void = () => void stopChild(child)): void => {
  let timer: NodeJS.Timeout | undefined
  let rest = ''
  const onData = (chunk: Buffer | string): void => {
    const text = `${rest}${chunk}`
    rest = text.slice(1 - ERROR.length)
    if (text.includes(ERROR)) timer ??= setTimeout(stop, ERROR_GRACE_MS)
  }
  child.stderr.on('data', onData)
  void child.ended.then(() => clearTimeout(timer))
}
