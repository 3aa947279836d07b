/** A receiver estimates little more than it gets: an estimate counts when it is less than this part of what it was offered. */
const CONGESTED = 0.85
/** Never less than this, bytes per millisecond: 100 kbit/s. */
const LEAST = 12.5
/** An estimate that grows by less from one report to the next is that of a link which is full, or of a receiver that wants no more. */
const RISING = 1.02
/** How long a limit is kept before everything is tried again, milliseconds; twice as long after each time that was too early. */
const HOLD_MS = { first: 4000, most: 32_000 }
/** What goes out at the beginning of a session, with the cached GOP, is more than the stream needs; milliseconds. */
const BEGIN_MS = 3000

/**
 * How fast a receiver can take packets, from its estimates (REMB). Estimates of browsers fall at once and grow by 8 % a second, by what
 * comes: one hiccup would cost half a minute of pictures. So everything is tried again after a while, and goes on while the estimate grows.
 */
export class PaceLimit {
  readonly #beginMs: number
  #wanted = 0
  #estimate = 0
  #isLimited = false
  #tryAtMs = 0
  #holdMs = HOLD_MS.first

  constructor(nowMs: number) {
    this.#beginMs = nowMs
  }

  /** Takes an estimate while so much is `offered`, bytes per millisecond each; answers the limit, or undefined for none. */
  update(estimate: number, offered: number, nowMs: number): number | undefined {
    if (nowMs - this.#beginMs < BEGIN_MS) return undefined
    const isRising = estimate >= this.#estimate * RISING
    this.#estimate = estimate
    // While it is limited, less is offered: what was offered before counts.
    if (!this.#isLimited) this.#wanted = offered
    if (estimate >= this.#wanted * CONGESTED) {
      this.#isLimited = false
      this.#holdMs = HOLD_MS.first
    } else if (this.#isLimited) {
      this.#isLimited = nowMs < this.#tryAtMs
    } else if (!isRising || this.#tryAtMs === 0) {
      this.#isLimited = true
      this.#tryAtMs = nowMs + this.#holdMs
      this.#holdMs = Math.min(HOLD_MS.most, 2 * this.#holdMs)
    }
    return this.#isLimited ? Math.max(LEAST, estimate) : undefined
  }
}
