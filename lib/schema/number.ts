import * as v from 'valibot'

/** A whole number within bounds, both included. */
export const integerBetween = (least: number, most: number) =>
  v.pipe(
    v.number('Use a number'),
    v.integer('Use a whole number'),
    v.minValue(least, `Use at least ${least}`),
    v.maxValue(most, `Use at most ${most}`),
  )

/** A finite number within bounds, both included. */
export const numberBetween = (least: number, most: number) =>
  v.pipe(
    v.number('Use a number'),
    v.finite('Use a finite number'),
    v.minValue(least, `Use at least ${least}`),
    v.maxValue(most, `Use at most ${most}`),
  )
