import type { Sample } from '../api/history.ts'

/** Samples of the page come every two seconds, those that the service has kept every ten. */
const GAP_SECONDS = 25

/** The times and values of a chart. Without samples for a while, as in a hidden tab, the line has a gap. */
export const pointsOf = (
  samples: readonly Sample[],
  value: (sample: Sample) => number | null,
): readonly (readonly [number, number | null])[] =>
  samples.flatMap((sample, index) => {
    const point = [sample.at, value(sample)] as const
    const before = samples[index - 1]?.at ?? sample.at
    return sample.at - before > GAP_SECONDS ? [[(before + sample.at) / 2, null] as const, point] : [point]
  })
