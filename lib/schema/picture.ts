import * as v from 'valibot'
import { integerBetween, numberBetween } from './number.ts'
import { type Geolocation, pipelineIdSchema } from './pipeline.ts'

/** Characters of a file name: an id of 64, the time, the ending. */
export const MAX_FILE_NAME = 96

/** Most files that one answer lists; also when no limit is given. */
export const MAX_LISTED = 1000

const interval = numberBetween(1, 86400)
const quality = integerBetween(1, 100)

/** Body of screenshots/start; what is left out comes from the settings. */
export const screenshotsStartSchema = v.strictObject({ interval_seconds: v.optional(interval), quality: v.optional(quality) })

const wholeNumber = (least: number, most: number) =>
  v.pipe(
    v.string('Use a whole number'),
    v.regex(/^\d{1,9}$/, 'Use a whole number'),
    v.transform(Number),
    v.minValue(least, `Use at least ${least}`),
    v.maxValue(most, `Use at most ${most}`),
  )

/** Query of the snapshot. */
export const snapshotQuerySchema = v.strictObject({ quality: v.optional(wholeNumber(1, 100)), width: v.optional(wholeNumber(16, 8192)) })

/** `<pipeline id>_<yyyymmddThhmmssSSSZ>.jpg` */
export const screenshotFileSchema = v.pipe(
  v.string('Use the name of a file'),
  v.maxLength(MAX_FILE_NAME, `Use at most ${MAX_FILE_NAME} characters`),
  v.regex(/^[a-zA-Z0-9_-]{1,64}_\d{8}T\d{9}Z\.jpg$/, 'Use the name of a file as the list shows it'),
)

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/

/** Query of the list of files. */
export const screenshotListSchema = v.strictObject({
  pipeline_id: v.optional(pipelineIdSchema),
  limit: v.optional(wholeNumber(1, MAX_LISTED)),
  before: v.optional(
    v.pipe(
      v.string(),
      v.check(
        (text) => ISO_TIME.test(text) && !Number.isNaN(Date.parse(text)),
        'Use the created_at of a file, such as 2026-11-20T10:00:00.000Z',
      ),
    ),
  ),
})

/** Query of the deletion of a pipeline's files. */
export const screenshotDeleteSchema = v.strictObject({ pipeline_id: pipelineIdSchema })

/** What was asked for with screenshots/start, and is asked for again after the engine was restarted. */
export interface ScreenshotWish {
  readonly interval_seconds: number
  readonly quality: number
}

/** A screenshot file; what its head does not tell is null. */
export interface ScreenshotFile {
  readonly file: string
  readonly pipeline_id: string
  /** When the picture came from the source: ISO 8601 UTC, milliseconds. */
  readonly created_at: string
  readonly size_bytes: number
  readonly width: number | null
  readonly height: number | null
  readonly geolocation: Geolocation | null
}
