import * as v from 'valibot'
import { described, integerInQuery, time } from './primitives.ts'

/** Most lines in one answer. */
export const MAX_LOG_LINES = 1000

/** Query of the log. */
export const logQuerySchema = v.strictObject({
  limit: v.optional(integerInQuery(1, MAX_LOG_LINES, 'Maximum number of lines in the answer')),
})

/** A line that a pipeline's child process or the engine wrote. */
export const logLineSchema = v.object({
  at: time,
  run: described(
    v.pipe(v.number(), v.integer()),
    'Number of the run that wrote the line; counts from 1 when the engine registers the pipeline',
  ),
  stream: v.picklist(['stdout', 'stderr', 'engine']),
  line: described(v.string(), 'Credentials are masked (***)'),
})
