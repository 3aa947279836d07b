/** A part of time, milliseconds since the epoch. */
export interface Span {
  readonly from: number
  readonly to: number
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** What the timeline shows at once. */
export const LENGTHS = [
  { name: 'Month', ms: 31 * DAY },
  { name: 'Day', ms: DAY },
  { name: 'Hour', ms: HOUR },
  { name: 'Minute', ms: MINUTE },
] as const

const SHORTEST = 10 * SECOND
const LONGEST = 31 * DAY

const STEPS = [SECOND, 5 * SECOND, 15 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, DAY, 7 * DAY]
const MAX_TICKS = 8

/** A view of this length around a moment; a part of it may be in the future. */
export const around = (at: number, ms: number): Span => {
  const length = Math.min(LONGEST, Math.max(SHORTEST, ms))
  return { from: at - length / 2, to: at + length / 2 }
}

/** The view with this moment in it: the same, or moved just so far. */
export const follow = (view: Span, at: number): Span => {
  const length = view.to - view.from
  if (at < view.from) return { from: at - length * 0.1, to: at + length * 0.9 }
  return at > view.to ? { from: at - length * 0.9, to: at + length * 0.1 } : view
}

/** Moments with round local times, a few of them; `offsetMs`: of the local time, to be added to UTC. */
export const ticksOf = ({ from, to }: Span, offsetMs: number): readonly number[] => {
  const step = STEPS.find((ms) => (to - from) / ms <= MAX_TICKS) ?? 7 * DAY
  const first = Math.ceil((from + offsetMs) / step) * step - offsetMs
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, number) => first + number * step)
}

/** Where a moment is in a view, in percent of its width. */
export const percentOf = ({ from, to }: Span, at: number): number => (100 * (at - from)) / (to - from)

/** The spans that a view shows, cut to it; those closer than a pixel are one. */
export const visible = (spans: readonly Span[], view: Span): readonly Span[] => {
  const gap = (view.to - view.from) / 1000
  const shown: Span[] = []
  const sorted = spans.filter(({ from, to }) => to > view.from && from < view.to).sort((one, other) => one.from - other.from)
  for (const span of sorted) {
    const cut = { from: Math.max(span.from, view.from), to: Math.min(span.to, view.to) }
    const last = shown.at(-1)
    if (last !== undefined && cut.from - last.to < gap) shown[shown.length - 1] = { from: last.from, to: Math.max(last.to, cut.to) }
    else shown.push(cut)
  }
  return shown
}

export const spanAt = <T extends Span>(spans: readonly T[], at: number): T | undefined =>
  spans.find(({ from, to }) => from <= at && at <= to)
