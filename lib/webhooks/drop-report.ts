import type { Clock, Log } from '../ports.ts'

/** Why an event was given up. */
const REASONS = {
  full: 'too many events wait for this receiver',
  expired: 'the receiver has taken nothing for 24 hours',
  lost: 'the stored events were removed',
  not_stored: 'the events cannot be stored, and too many wait in memory',
} as const
export type DropReason = keyof typeof REASONS

/** Shortest time between two lines of the log, milliseconds. */
const REPORT_EVERY_MS = 60_000

interface DropReportOptions {
  readonly receiver: string
  readonly clock: Clock
  readonly log: Log
}

/** Logs what was dropped: the first at once, then their number each minute. */
export class DropReport {
  readonly #options: DropReportOptions
  readonly #counts = new Map<DropReason, number>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #at: number | undefined

  constructor(options: DropReportOptions) {
    this.#options = options
  }

  /** When an event was last dropped, milliseconds since the epoch. */
  get at(): number | undefined {
    return this.#at
  }

  count(reason: DropReason): void {
    this.#at = this.#options.clock.now()
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1)
    if (this.#timer === undefined) this.#report()
  }

  /** Logs what is not logged yet. */
  end(): void {
    clearTimeout(this.#timer)
    this.#log()
  }

  #report(): void {
    this.#timer = this.#log() ? setTimeout(() => this.#report(), REPORT_EVERY_MS) : undefined
  }

  #log(): boolean {
    const { log, receiver } = this.#options
    for (const [reason, events] of this.#counts) log.warn('webhook_events_dropped', { receiver, events, reason: REASONS[reason] })
    const isAny = this.#counts.size > 0
    this.#counts.clear()
    return isAny
  }
}
