export interface ServiceClock {
  /** Milliseconds since the epoch, by the clock of the service. */
  readonly now: () => number
  /** Evaluates the Date of an answer. `sentAt`: when it was requested, by the local clock. */
  readonly observe: (answer: Response, sentAt: number) => void
}

/**
 * The clock of a service, from the Date of its answers (RFC 9110 section 6.6.1), which has whole seconds. Differences too small
 * for them count as zero.
 */
export const createServiceClock = (local: () => number = Date.now): ServiceClock => {
  let ahead = 0
  return {
    now: () => local() + ahead,
    observe: ({ headers }, sentAt) => {
      const date = Date.parse(headers.get('date') ?? '')
      if (Number.isNaN(date)) return
      // The service wrote it within that second, between the request and now.
      ahead = Math.max(Math.min(ahead, date + 1000 - sentAt), date - local())
    },
  }
}
