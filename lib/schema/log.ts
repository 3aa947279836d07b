import * as v from 'valibot'
import { count, described, integerInQuery, oneOf, time } from './primitives.ts'

/** Most lines in one answer. */
export const MAX_LOG_LINES = 1000

const limit = v.optional(integerInQuery(1, MAX_LOG_LINES, 'Maximum number of lines in the answer'))
const STREAMS = ['stdout', 'stderr', 'engine'] as const

/** Query of the log. */
export const logQuerySchema = v.strictObject({ limit })

/** Query of the logs of all pipelines. */
export const logSearchSchema = v.strictObject({
  search: v.optional(
    described(
      v.pipe(v.string(), v.maxLength(200, 'Use at most 200 characters')),
      'Text that the line or the id of its pipeline contains, in upper or lower case',
    ),
    '',
  ),
  stream: v.optional(
    described(oneOf(STREAMS), 'engine: what happened to the pipeline, phases and faults; stdout, stderr: output of its processes'),
  ),
  limit,
})

/** A line that a pipeline's child process or the engine wrote. */
export const logLineSchema = v.object({
  at: time,
  run: described(
    v.pipe(v.number(), v.integer()),
    'Number of the run that wrote the line; counts from 1 when the engine registers the pipeline',
  ),
  stream: v.picklist(STREAMS),
  line: described(v.string(), 'Credentials are masked (***)'),
})

/** A line among those of other pipelines. */
export const foundLineSchema = v.object({ pipeline_id: v.string(), ...logLineSchema.entries })

/** What was measured of a pipeline at a time. */
export const rateSampleSchema = v.object({
  at: time,
  fps: described(v.number(), 'Frames per second'),
  bitrate_kbps: described(v.number(), 'kbit/s'),
  readers: count,
  last_frame_age_ms: described(v.nullable(v.number()), 'Milliseconds since the newest frame; null when there was none'),
})

export type RateSample = Readonly<v.InferOutput<typeof rateSampleSchema>>
export type FoundLine = Readonly<v.InferOutput<typeof foundLineSchema>>
