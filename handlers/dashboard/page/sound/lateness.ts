/** What is remembered of jitter: one window at least, two at most; milliseconds. Short, since the clock of a source may be off by 1 %. */
const WINDOW_MS = 1000

interface Lateness {
  /** Something with this time in the stream, milliseconds, comes now. */
  readonly observe: (timeMs: number, nowMs: number) => void
  /** By how much the clock of the page is ahead of the times of what comes without delay; undefined before the first. */
  readonly value: () => number | undefined
  readonly reset: () => void
}

/** The smallest difference between the clock of the page and the times of a stream in the last one to two seconds. */
export const createLateness = (): Lateness => {
  let [current, previous] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  let sinceMs = Number.NEGATIVE_INFINITY
  return {
    observe: (timeMs, nowMs) => {
      if (nowMs - sinceMs > WINDOW_MS) {
        previous = nowMs - sinceMs > 2 * WINDOW_MS ? Number.POSITIVE_INFINITY : current
        current = Number.POSITIVE_INFINITY
        sinceMs = nowMs
      }
      current = Math.min(current, nowMs - timeMs)
    },
    value: () => {
      const least = Math.min(current, previous)
      return Number.isFinite(least) ? least : undefined
    },
    reset: () => {
      current = Number.POSITIVE_INFINITY
      previous = Number.POSITIVE_INFINITY
    },
  }
}
