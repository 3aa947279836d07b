const { setTimeout: later, setInterval: every } = globalThis
const now = performance.now.bind(performance)

/**
 * Timers of this process, and its monotonic clock, run so many times faster from now on, until the answered function is called: what
 * waits for seconds waits for less.
 */
export const runTimersFaster = (factor: number): (() => void) => {
  const begun = now()
  const faster =
    (real: (work: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => unknown) =>
    (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      real(work, ms / factor, ...args)
  globalThis.setTimeout = faster(later as never) as typeof setTimeout
  globalThis.setInterval = faster(every as never) as typeof setInterval
  performance.now = () => begun + (now() - begun) * factor
  return () => {
    Object.assign(globalThis, { setTimeout: later, setInterval: every })
    performance.now = now
  }
}

/** Real milliseconds. */
export const realPause = (ms: number): Promise<void> => new Promise((resolve) => later(resolve, ms))
export const realNow = now
