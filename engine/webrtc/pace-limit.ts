/** A receiver estimates little more than it gets: an estimate counts when it is less than this part of what it was offered. */
const CONGESTED = 0.85
/** Never less than this, bytes per millisecond: 100 kbit/s. */
const LEAST = 12.5
/** An estimate that grows by less from one report to the next is that of a link which is full, or of a receiver that wants no more. */
const RISING = 1.02
/** Between two estimates that are compared, milliseconds: reports of lost packets bring the same estimate many times a second. */
const COMPARE_MS = 900
/** How long a limit is kept before everything is tried again, milliseconds; twice as long after each time that was too early. */
const HOLD_MS = { first: 4000, most: 32_000 }
/** A receiver whose estimate has changed so often estimates; another one states what it wants. */
const ESTIMATES = 3
/** The way is crowded where this part is lost, or reports take so much longer than they did, milliseconds: the middle one of the last few. */
const CROWDED = { lost: 0.1, queuedMs: 75, reports: 5 }
/** What was seen of the way counts for this long, milliseconds. */
const SEEN_MS = 3000
/** What goes out at the beginning of a session, with the cached GOP, is more than the stream needs; milliseconds. */
const BEGIN_MS = 3000

/**
 * How fast a receiver can take packets, from its estimates (REMB). Estimates of browsers fall at once and grow by 8 % a second, by what
 * comes: one hiccup would cost half a minute of pictures. So everything is tried again after a while, and goes on while the estimate grows.
 * Packets that overtake others make them estimate far too little, for minutes: what they estimate does not count while little is lost and
 * nothing is held up on its way.
 */
export class PaceLimit {
  readonly #beginMs: number
  #wanted = 0
  #estimate = 0
  #comparedMs = Number.NEGATIVE_INFINITY
  #isLimited = false
  #tryAtMs = 0
  #holdMs = HOLD_MS.first
  #changes = 0
  #roundTripsMs: readonly number[] = []
  #leastRoundTripMs = Number.POSITIVE_INFINITY
  #observedMs = Number.NEGATIVE_INFINITY
  #crowdedMs = Number.NEGATIVE_INFINITY

  constructor(nowMs: number) {
    this.#beginMs = nowMs
  }

  /** Takes an estimate while so much is `offered`, bytes per millisecond each; answers the limit, or undefined for none. */
  update(estimate: number, offered: number, nowMs: number): number | undefined {
    if (nowMs - this.#beginMs < BEGIN_MS) return undefined
    // While it is limited, less is offered: what was offered before counts.
    if (!this.#isLimited) this.#wanted = offered
    if (nowMs - this.#comparedMs >= COMPARE_MS) this.#compare(estimate, nowMs)
    return this.#isLimited ? Math.max(LEAST, estimate) : undefined
  }

  /** A part of the packets was lost, 0 to 1, and a report took so long there and back. */
  observe(lost: number, roundTripMs: number, nowMs: number): void {
    this.#roundTripsMs = [...this.#roundTripsMs, roundTripMs].slice(-CROWDED.reports)
    const middle = this.#roundTripsMs.toSorted((a, b) => a - b)[this.#roundTripsMs.length >> 1] ?? roundTripMs
    this.#leastRoundTripMs = Math.min(this.#leastRoundTripMs, middle)
    this.#observedMs = nowMs
    if (lost >= CROWDED.lost || middle - this.#leastRoundTripMs >= CROWDED.queuedMs) this.#crowdedMs = nowMs
  }

  /** The receiver estimates, and nothing else says that the way to it is too narrow. */
  #isDoubtful(nowMs: number): boolean {
    return this.#changes >= ESTIMATES && nowMs - this.#observedMs < SEEN_MS && nowMs - this.#crowdedMs >= SEEN_MS
  }

  #compare(estimate: number, nowMs: number): void {
    const isRising = estimate >= this.#estimate * RISING
    if (estimate !== this.#estimate) this.#changes += 1
    this.#estimate = estimate
    this.#comparedMs = nowMs
    if (estimate >= this.#wanted * CONGESTED || (!this.#isLimited && this.#isDoubtful(nowMs))) {
      this.#isLimited = false
      this.#holdMs = HOLD_MS.first
    } else if (this.#isLimited) {
      this.#isLimited = nowMs < this.#tryAtMs
    } else if (!isRising || this.#tryAtMs === 0) {
      this.#isLimited = true
      this.#tryAtMs = nowMs + this.#holdMs
      this.#holdMs = Math.min(HOLD_MS.most, 2 * this.#holdMs)
    }
  }
}
