import type { PlayedSegment } from './segment.ts'

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

interface ListedRange extends Interval {
  /** Only spans that begin before, cut to the range. */
  readonly before: number
  /** More are answered where several begin at once. */
  readonly limit: number
}

/** Adds segments that are being written, the oldest first, to the newest spans of a range, the newest first. */
export const withSegments = (
  spans: readonly RecordedSpan[],
  segments: readonly PlayedSegment[],
  { from, to, before, limit }: ListedRange,
): readonly RecordedSpan[] => {
  const listed = [...spans]
  for (const { pipeline_id, started_at, ended_at, bytes, tracks, span } of segments) {
    if (started_at >= to || ended_at <= from) continue
    const part = { pipeline_id, from: Math.max(started_at, from), to: Math.min(ended_at, to), bytes, tracks }
    const at = listed.findIndex((other) => other.pipeline_id === pipeline_id && other.from <= part.from && other.to >= part.from)
    const found = listed[at]
    // A segment that begins a span has nothing before it; the list may have it already.
    if (found !== undefined && (span < started_at || found.from === part.from)) {
      if (found.to < part.to) listed[at] = { ...found, to: part.to, bytes: found.bytes + bytes, tracks }
    } else if (part.from < before) listed.push(part)
  }
  listed.sort((one, other) => other.from - one.from || (one.pipeline_id < other.pipeline_id ? -1 : 1))
  const last = listed[limit - 1]?.from
  return listed.filter((span) => last === undefined || span.from >= last)
}
