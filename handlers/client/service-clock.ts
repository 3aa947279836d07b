interface ServiceClock {
  /** Milliseconds since the epoch, by the clock of the service. */
  readonly now: () => number
  /** Takes the Date of an answer; `asked` is when it was asked for, by the clock of this program. */
  readonly observe: (answer: Response, asked: number) => void
}

/**
 * The time of a service, whose clock may differ from the one here: by the Date of its answers (RFC 9110 section 6.6.1), which
 * has whole seconds. A difference that the answers do not show is none.
 */
export const createServiceClock = (local: () => number = Date.now): ServiceClock => {
  let ahead = 0
  return {
    now: () => local() + ahead,
    observe: ({ headers }, asked) => {
      const date = Date.parse(headers.get('date') ?? '')
      if (Number.isNaN(date)) return
      // The service wrote it within that second, at a time from the question to now.
      ahead = Math.max(Math.min(ahead, date + 1000 - asked), date - local())
    },
  }
}
