import type { AccessUnit } from './access-unit.ts'
import { UnitMemory } from './unit-memory.ts'

export interface GopLimits {
  readonly bytes: number
  readonly units: number
}

/** Five minutes of 30 pictures per second: cameras that save bandwidth send key frames as rarely as that. */
const DEFAULT_LIMITS: GopLimits = { bytes: 32 * 1024 * 1024, units: 10_000 }

/** The access units since a key frame: what a decoder needs to show the present picture. */
export interface Gop {
  readonly units: readonly AccessUnit[]
  /** Arrival of the key frame and of the newest unit, monotonic milliseconds. */
  readonly keyArrivedMs: number
  readonly newestArrivedMs: number
}

/**
 * Caches the present GOP. Where pictures are refreshed gradually, a GOP stays until the pictures of the next one are complete. A GOP that exceeds the limits is dropped, and nothing is cached until the next key frame.
 */
export class GopCache {
  readonly #limits: GopLimits
  /** Copies in `#memory`. */
  #units: AccessUnit[] = []
  #bytes = 0
  #memory = new UnitMemory()
  /** Where in `#units` the next GOP begins, while its pictures are not complete. */
  #nextAt: number | undefined

  constructor(limits: Partial<GopLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits }
  }

  add(unit: AccessUnit): void {
    if (unit.key && unit.recoveryFrames === 0) this.clear()
    else if (unit.key && this.#units.length > 0) this.#nextAt ??= this.#units.length
    else if (!unit.key && this.#units.length === 0) return
    this.#bytes += unit.bytes
    this.#units.push(this.#memory.keep(unit))
    if (this.#isNextWhole || (this.#isOverLimits && this.#nextAt !== undefined)) this.#goOnAt(this.#nextAt ?? 0)
    if (this.#isOverLimits) this.clear()
  }

  /** Media time of the key frame, monotonic milliseconds. */
  get startMs(): number | undefined {
    return this.#units[0]?.mediaMs
  }

  clear(): void {
    this.#units = []
    this.#bytes = 0
    this.#nextAt = undefined
    this.#memory.clear()
  }

  get #isNextWhole(): boolean {
    const next = this.#nextAt === undefined ? undefined : this.#units[this.#nextAt]
    return next !== undefined && this.#units.length - 1 - (this.#nextAt ?? 0) >= next.recoveryFrames
  }

  get #isOverLimits(): boolean {
    return this.#bytes > this.#limits.bytes || this.#units.length > this.#limits.units
  }

  #goOnAt(at: number): void {
    for (const { bytes } of this.#units.splice(0, at)) this.#bytes -= bytes
    const memory = new UnitMemory()
    this.#units = this.#units.map((unit) => memory.keep(unit))
    this.#memory = memory
    this.#nextAt = undefined
  }

  /** A copy of the present GOP; undefined before its key frame. */
  get gop(): Gop | undefined {
    const units = this.#units.slice()
    const [key] = units
    const newest = units.at(-1)
    if (!key || !newest) return undefined
    this.#memory.share()
    return { units, keyArrivedMs: key.arrivedMs, newestArrivedMs: newest.arrivedMs }
  }
}
