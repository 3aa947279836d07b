import type { AccessUnit } from '../rtp/access-unit.ts'
import { FramePairing } from './frame-pairing.ts'

/** A KLV packet whose frame has not come after this time gets the time of the frame before, milliseconds. */
const LONGEST_WAIT_MS = 1000
const MAX_WAITING_UNITS = 256
const MAX_WAITING_BYTES = 1024 * 1024

interface Picture {
  readonly mediaMs: number
  /** 90 kHz ticks */
  readonly pts: number
}

/** A KLV packet with the time of its picture. */
interface TimedUnit {
  readonly unit: AccessUnit
  readonly pts: number
}

/** Gives KLV packets the times of their pictures. It is the KLV that waits, never the video. */
export class TimedKlv {
  readonly #pairing = new FramePairing<Picture>()
  #waiting: AccessUnit[] = []

  /** The time of a packet; undefined: a later `add` has it, when its picture comes. */
  ptsOf(unit: AccessUnit): number | undefined {
    const picture = this.#waiting.length === 0 ? this.#pairing.frameAt(unit.mediaMs) : undefined
    if (picture === undefined) this.#wait(unit)
    return picture?.pts
  }

  /** Takes the next picture. Returns the packets that need not wait any more. */
  add(picture: Picture, nowMs: number): readonly TimedUnit[] {
    this.#pairing.add(picture)
    const ready: TimedUnit[] = []
    for (const unit of this.#waiting) {
      const isOld = nowMs - unit.arrivedMs > LONGEST_WAIT_MS
      const found = this.#pairing.frameAt(unit.mediaMs) ?? (isOld ? this.#pairing.lastAt(unit.mediaMs) : undefined)
      // In their order.
      if (found === undefined) break
      ready.push({ unit, pts: found.pts })
    }
    this.#waiting.splice(0, ready.length)
    return ready
  }

  #wait(unit: AccessUnit): void {
    this.#waiting.push(unit)
    let bytes = this.#waiting.reduce((sum, waiting) => sum + waiting.bytes, 0)
    while (this.#waiting.length > MAX_WAITING_UNITS || bytes > MAX_WAITING_BYTES) bytes -= this.#waiting.shift()?.bytes ?? 0
  }
}
