/** The process must run during this last part of a silence. */
const LAST_PART = 1 / 4

interface Watched {
  /** Time of the last sign of life, monotonic milliseconds. */
  readonly heardAt: () => number
  /** Longest silence, milliseconds; read at each check. */
  readonly silenceMs: () => number
  /** Longest time between two checks, milliseconds. */
  readonly checkEveryMs?: number
  readonly onSilent: () => void
}

/**
 * Calls `onSilent` once, after a silence of `silenceMs`; returns a function that ends the watch. When the process was stopped, as in a
 * frozen container, timers fire before the data that has arrived is read, so the last part of the silence has to pass again.
 */
export const watchSilence = ({ heardAt, silenceMs, checkEveryMs = Number.POSITIVE_INFINITY, onSilent }: Watched): (() => void) => {
  let timer: ReturnType<typeof setTimeout>
  /** `heardAt` at the begin of the last part. */
  let lastHeard: number | undefined
  const check = (): void => {
    const heard = heardAt()
    const lastMs = silenceMs() * LAST_PART
    const leftMs = heard + silenceMs() - performance.now()
    const isLast = leftMs <= lastMs
    if (isLast && heard === lastHeard) {
      onSilent()
      return
    }
    lastHeard = isLast ? heard : undefined
    timer = setTimeout(check, Math.ceil(isLast ? lastMs : Math.min(leftMs - lastMs, checkEveryMs)))
  }
  check()
  return () => clearTimeout(timer)
}
