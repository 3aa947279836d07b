/** A picture waits no longer for its KLV, milliseconds. */
const MOST_MS = 100
/** Added to what was seen: packets that come about when their frames do are late now and then. */
const MARGIN_MS = 10
/** What was seen counts this long, and as long again, milliseconds. */
const PERIOD_MS = 5000

/** How long pictures wait for KLV that comes after them: by how late it was in the last seconds. */
export class KlvDelay {
  #latest: number | undefined
  #before = Number.NEGATIVE_INFINITY
  #sinceMs = Number.NEGATIVE_INFINITY

  /** By how much a packet came after its frame, milliseconds; below 0: before it. */
  observe(lateMs: number, nowMs: number): void {
    if (nowMs - this.#sinceMs > PERIOD_MS) {
      this.#before = this.#latest ?? Number.NEGATIVE_INFINITY
      this.#latest = undefined
      this.#sinceMs = nowMs
    }
    this.#latest = Math.max(this.#latest ?? lateMs, lateMs)
  }

  /** Milliseconds. */
  get ms(): number {
    if (this.#latest === undefined) return MOST_MS
    const late = Math.max(this.#latest, this.#before)
    return Math.max(0, Math.min(MOST_MS, late + MARGIN_MS))
  }
}
