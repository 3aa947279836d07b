import type { AccessUnit } from './access-unit.ts'

export interface GopLimits {
  readonly bytes: number
  readonly units: number
}

/** Five minutes of 30 pictures per second: cameras that save bandwidth send key frames as rarely as that. */
const DEFAULT_LIMITS: GopLimits = { bytes: 32 * 1024 * 1024, units: 10_000 }

/** The access units since the newest key frame: what a decoder needs to show the present picture. */
export interface Gop {
  readonly units: readonly AccessUnit[]
  /** Arrival of the key frame and of the newest unit, monotonic milliseconds. */
  readonly keyArrivedMs: number
  readonly newestArrivedMs: number
}

/** Caches the present GOP. One that exceeds the limits is dropped whole, and nothing is cached until the next key frame. */
export class GopCache {
  readonly #limits: GopLimits
  #units: AccessUnit[] = []
  #bytes = 0

  constructor(limits: Partial<GopLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits }
  }

  add(unit: AccessUnit): void {
    if (unit.key) this.clear()
    else if (this.#units.length === 0) return
    this.#bytes += unit.bytes
    this.#units.push(unit)
    if (this.#bytes > this.#limits.bytes || this.#units.length > this.#limits.units) this.clear()
  }

  clear(): void {
    this.#units = []
    this.#bytes = 0
  }

  /** A copy of the present GOP; undefined before its key frame. */
  get gop(): Gop | undefined {
    const units = this.#units.slice()
    const [key] = units
    const newest = units.at(-1)
    if (!key || !newest) return undefined
    return { units, keyArrivedMs: key.arrivedMs, newestArrivedMs: newest.arrivedMs }
  }
}
