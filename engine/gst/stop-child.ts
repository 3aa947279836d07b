import type { Child, Ended } from './child.ts'

/** The stop ladder: how long a child may take to end after each signal before it gets the next. */
const STOP_SIGNALS = [
  { signal: 'SIGINT', patienceMs: 2000 },
  { signal: 'SIGTERM', patienceMs: 2000 },
  { signal: 'SIGKILL', patienceMs: 5000 },
] as const

/** Ends a child: SIGINT, then SIGTERM, then SIGKILL. Resolves when it is reaped. */
export const stopChild = async (child: Child): Promise<void> => {
  for (const { signal, patienceMs } of STOP_SIGNALS) {
    child.kill(signal)
    if (await endsWithin(child.ended, patienceMs)) return
  }
}

const endsWithin = async (ended: Promise<Ended>, patienceMs: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, patienceMs, false)
  })
  try {
    return await Promise.race([ended.then(() => true), timeout])
  } finally {
    clearTimeout(timer)
  }
}
