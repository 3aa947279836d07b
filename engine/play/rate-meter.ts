const BUCKET_MS = 250
const BUCKETS = 9

/** Rates over the last two seconds, kept in quarter-second buckets, so no timer is needed. */
export class RateMeter {
  readonly #buckets: { index: number; units: number; bytes: number }[] = []

  record(nowMs: number, bytes: number): void {
    const index = Math.floor(nowMs / BUCKET_MS)
    const newest = this.#buckets.at(-1)
    if (newest?.index === index) {
      newest.units += 1
      newest.bytes += bytes
      return
    }
    this.#buckets.push({ index, units: 1, bytes })
    if (this.#buckets.length > BUCKETS) this.#buckets.shift()
  }

  /** Access units per second and kbit/s over the last eight whole buckets. */
  rates(nowMs: number): { readonly fps: number; readonly kbps: number } {
    const current = Math.floor(nowMs / BUCKET_MS)
    const whole = this.#buckets.filter(({ index }) => index < current && index >= current - (BUCKETS - 1))
    const first = this.#buckets[0]?.index
    const span = first === undefined ? 0 : Math.min(BUCKETS - 1, current - first)
    if (span <= 0) return { fps: 0, kbps: 0 }
    const seconds = (span * BUCKET_MS) / 1000
    const units = whole.reduce((sum, bucket) => sum + bucket.units, 0)
    const bytes = whole.reduce((sum, bucket) => sum + bucket.bytes, 0)
    return { fps: Math.round((units / seconds) * 10) / 10, kbps: Math.round((bytes * 8) / seconds / 1000) }
  }
}
