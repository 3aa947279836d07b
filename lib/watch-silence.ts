/** This part of a silence has to pass while the process runs. */
const LAST_PART = 1 / 4

interface Watched {
  /** When something was heard last, monotonic milliseconds. */
  readonly heardAt: () => number
  /** How long nothing may be heard, milliseconds; read at each look. */
  readonly silenceMs: () => number
  /** Longest time between two looks, milliseconds. */
  readonly lookEveryMs?: number
  readonly onSilent: () => void
}

/**
 * Calls `onSilent` once, when nothing has been heard for the time; answers what ends the watch. Where the process stood still, as in
 * a frozen container timers come before what has arrived meanwhile: it is given the last part of the time.
 */
export const watchSilence = ({ heardAt, silenceMs, lookEveryMs = Number.POSITIVE_INFINITY, onSilent }: Watched): (() => void) => {
  let timer: ReturnType<typeof setTimeout>
  /** What was heard last when the last part began. */
  let lastHeard: number | undefined
  const look = (): void => {
    const heard = heardAt()
    const lastMs = silenceMs() * LAST_PART
    const leftMs = heard + silenceMs() - performance.now()
    const isLast = leftMs <= lastMs
    if (isLast && heard === lastHeard) {
      onSilent()
      return
    }
    lastHeard = isLast ? heard : undefined
    timer = setTimeout(look, Math.ceil(isLast ? lastMs : Math.min(leftMs - lastMs, lookEveryMs)))
  }
  look()
  return () => clearTimeout(timer)
}
