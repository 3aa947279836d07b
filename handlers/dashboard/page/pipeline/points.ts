import type { Sample } from '../api/history.ts'

/** Samples come every two seconds, and later over a slow network. */
const GAP_SECONDS = 10

/**
 * What a chart draws: times and values. Where nothing was measured for a while, as in a hidden tab, the line has a gap: drawn through, it
 * would say that all was well meanwhile.
 */
export const pointsOf = (
  samples: readonly Sample[],
  value: (sample: Sample) => number | null,
): readonly (readonly [number, number | null])[] =>
  samples.flatMap((sample, index) => {
    const point = [sample.at, value(sample)] as const
    const before = samples[index - 1]?.at ?? sample.at
    return sample.at - before > GAP_SECONDS ? [[(before + sample.at) / 2, null] as const, point] : [point]
  })
