import type { AccessUnit } from './access-unit.ts'
import type { Gop } from './gop-cache.ts'

/** Without pictures yet, this much is kept: they may come later than the sound of the same moment, milliseconds. */
const KEPT_MS = 3000
const MAX_BYTES = 8 * 1024 * 1024
const MAX_UNITS = 40_000
/** Dropped units are removed in one piece. */
const COMPACT_AT = 256

/** Caches the units of a stream since the moment at which the cached GOP of another stream begins. */
export class FollowingCache {
  readonly #leader: { readonly gopStartMs: number | undefined }
  #units: AccessUnit[] = []
  /** Units before it are dropped. */
  #head = 0
  #bytes = 0

  constructor(leader: { readonly gopStartMs: number | undefined }) {
    this.#leader = leader
  }

  add(unit: AccessUnit): void {
    this.#units.push(unit)
    this.#bytes += unit.bytes
    const startMs = this.#leader.gopStartMs ?? unit.mediaMs - KEPT_MS
    for (let oldest = this.#units[this.#head]; oldest !== undefined && this.#isOver(oldest, startMs); oldest = this.#units[this.#head]) {
      this.#bytes -= oldest.bytes
      this.#head += 1
    }
    if (this.#head < COMPACT_AT) return
    this.#units = this.#units.slice(this.#head)
    this.#head = 0
  }

  clear(): void {
    this.#units = []
    this.#head = 0
    this.#bytes = 0
  }

  get startMs(): number | undefined {
    return this.#units[this.#head]?.mediaMs
  }

  get gop(): Gop | undefined {
    const units = this.#units.slice(this.#head)
    const [first] = units
    const newest = units.at(-1)
    return first && newest && { units, keyArrivedMs: first.arrivedMs, newestArrivedMs: newest.arrivedMs }
  }

  #isOver(oldest: AccessUnit, startMs: number): boolean {
    return oldest.mediaMs < startMs || this.#bytes > MAX_BYTES || this.#units.length - this.#head > MAX_UNITS
  }
}
