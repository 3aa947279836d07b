import type { AccessUnit } from '../rtp/access-unit.ts'

/** A joining reader gets the cached GOP with its timestamps compressed to at most this much media time … */
const CATCH_UP_MS = 40
/** … or to this much for each picture, so that the times of a very long GOP still differ: two ticks of 90 kHz. */
const CATCH_UP_MS_PER_UNIT = 2 / 90
/** For a reader that guesses the frame rate by the first timestamps, only a longer GOP is compressed. */
const MAX_GUESSED_MS = 500

/** How to compress the media times of the cached GOP, monotonic milliseconds: linearly towards `referenceMs`, which keeps their order. */
export interface CatchUp {
  readonly startMs: number
  readonly referenceMs: number
  readonly factor: number
}

/** Changes no media time. */
export const NO_CATCH_UP: CatchUp = { startMs: Number.NEGATIVE_INFINITY, referenceMs: Number.NEGATIVE_INFINITY, factor: 1 }

/**
 * Plans the catch-up for the cached GOPs of a reader's tracks; without any, it starts at `nowMs`. `guessed`: the
 * reader guesses the frame rate by these times.
 */
export const planCatchUp = (gops: readonly (readonly AccessUnit[])[], nowMs: number, guessed = false): CatchUp => {
  const times = gops.flatMap((units) => units.map((unit) => unit.mediaMs))
  if (times.length === 0) return { startMs: nowMs, referenceMs: Number.NEGATIVE_INFINITY, factor: 1 }
  // The longest GOP sets the span; a single unit of a sparse stream may be far older than the picture.
  const longest = gops.reduce((one, other) => (other.length > one.length ? other : one), [])
  const startMs = longest.reduce((least, unit) => Math.min(least, unit.mediaMs), Number.POSITIVE_INFINITY)
  const referenceMs = longest.reduce((most, unit) => Math.max(most, unit.mediaMs), startMs)
  if (guessed && referenceMs - startMs <= MAX_GUESSED_MS) return { startMs, referenceMs, factor: 1 }
  const spanMs = Math.max(CATCH_UP_MS, longest.length * CATCH_UP_MS_PER_UNIT)
  return { startMs, referenceMs, factor: Math.min(1, spanMs / Math.max(1, referenceMs - startMs)) }
}

/** The compressed media time of a unit; times from `referenceMs` on stay. */
export const compress = (plan: CatchUp, mediaMs: number): number =>
  mediaMs >= plan.referenceMs ? mediaMs : plan.referenceMs - (plan.referenceMs - Math.max(plan.startMs, mediaMs)) * plan.factor
