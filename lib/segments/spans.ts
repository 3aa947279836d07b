/** A recording without a gap. Times are milliseconds since the epoch. */
export interface RecordedSpan {
  readonly pipeline_id: string
  readonly from: number
  readonly to: number
  readonly bytes: number
  readonly tracks: readonly string[]
}

interface Interval {
  readonly from: number
  readonly to: number
}

/** Seconds (both included) of one pipeline as intervals without overlap, the oldest first, milliseconds. */
export const mergeSeconds = (seconds: readonly { readonly first: number; readonly last: number }[]): readonly Interval[] => {
  const merged: { from: number; to: number }[] = []
  for (const { first, last } of seconds.toSorted((one, other) => one.first - other.first)) {
    const [from, to] = [first * 1000, (last + 1) * 1000]
    const before = merged.at(-1)
    if (before !== undefined && from <= before.to) before.to = Math.max(before.to, to)
    else merged.push({ from, to })
  }
  return merged
}

/** The parts of a span that lie in intervals. */
export const partsOf = (span: Interval, intervals: readonly Interval[]): readonly Interval[] =>
  intervals
    .filter(({ from, to }) => from < span.to && to > span.from)
    .map(({ from, to }) => ({ from: Math.max(from, span.from), to: Math.min(to, span.to) }))
