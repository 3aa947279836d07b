import * as v from 'valibot'
import { pipelineIdSchema } from '../schema/pipeline.ts'
import { count, described, integerInQuery, oneOf, time } from '../schema/primitives.ts'
import { readPlace } from './place.ts'

/** Most spans in one answer, also without a limit. */
export const MAX_SPANS = 1000

/** As `2026-11-20T09:30:00Z`. */
const MIN_CHARACTERS = 20
const MAX_CHARACTERS = 35

/** A time of day alone, or one without a zone, would mean another moment on another host. */
const isTime = (text: string): boolean => {
  if (text.length < MIN_CHARACTERS || text.length > MAX_CHARACTERS || text[4] !== '-' || text[10] !== 'T') return false
  const zone = text.endsWith('Z') || text.at(-6) === '+' || text.at(-6) === '-'
  return zone && !Number.isNaN(Date.parse(text)) && Date.parse(text) >= 0
}

const timeInQuery = (description: string) =>
  v.pipe(
    v.string('Use a time'),
    v.check(isTime, 'Use a time with its zone (RFC 3339), such as 2026-11-20T09:30:00Z'),
    v.metadata({ format: 'date-time', description }),
  )

const placeInQuery = v.pipe(
  v.string('Use a place'),
  v.check((text) => readPlace(text) !== undefined, 'Use <latitude>,<longitude> in degrees'),
  v.metadata({ description: 'Only what the footprint of the camera held: latitude and longitude, degrees, with a comma between them' }),
)

const IN_ORDER = 'Use a time after from, or the same'

const [from, to] = [timeInQuery('Begin of the range, RFC 3339'), timeInQuery('End of the range, RFC 3339')]

/** Query of the list of recordings. */
export const recordingsQuerySchema = v.pipe(
  v.strictObject({
    pipeline_id: v.optional(pipelineIdSchema),
    from: v.optional(from),
    to: v.optional(to),
    covers: v.optional(placeInQuery),
    limit: v.optional(integerInQuery(1, MAX_SPANS, 'Maximum number of spans in the answer; more where several begin at once')),
    before: v.optional(timeInQuery('Only spans that begin before: `from` of the last one, for the next page')),
  }),
  v.forward(
    v.check(({ from: begin, to: end }) => begin === undefined || end === undefined || Date.parse(begin) <= Date.parse(end), IN_ORDER),
    ['to'],
  ),
)

/** Query of a range of one pipeline. */
export const rangeQuerySchema = v.pipe(
  v.strictObject({ from, to }),
  v.forward(
    v.check(({ from: begin, to: end }) => Date.parse(begin) <= Date.parse(end), IN_ORDER),
    ['to'],
  ),
)

/** Query of the picture of a moment. */
export const momentQuerySchema = v.strictObject({ at: timeInQuery('The moment, RFC 3339') })

const KLV_FORMATS = ['json', 'footprint'] as const

/** Query of the KLV of a moment. */
export const recordedKlvQuerySchema = v.strictObject({
  at: timeInQuery('The moment, RFC 3339'),
  format: v.optional(described(oneOf(KLV_FORMATS), 'footprint: a GeoJSON Feature with the ground that the sensor saw'), 'json'),
})

/** Query of the deletion. */
export const recordingsDeleteSchema = v.strictObject({
  pipeline_id: pipelineIdSchema,
  before: timeInQuery('Recordings that end at this time or before are deleted, RFC 3339'),
})

/** A recording without a gap. */
export const recordedSpanSchema = v.object({
  pipeline_id: pipelineIdSchema,
  from: described(time, 'Arrival of the first frame at the engine, within the range'),
  to: described(time, 'End of the last frame, within the range'),
  bytes: described(count, 'Size of the files that have something of it'),
  tracks: described(v.array(v.string()), 'Such as h264, aac and klv'),
})

/** Answer of the deletion. */
export const recordingsDeletedSchema = v.object({
  deleted: described(count, 'Number of deleted files'),
  bytes: described(count, 'Their size'),
})
