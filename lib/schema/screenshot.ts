import * as v from 'valibot'
import { ApiError } from '../errors.ts'
import { type Geolocation, geolocationSchema, pipelineIdSchema } from './pipeline.ts'
import { count, described, integerBetween, integerInQuery, numberBetween, time } from './primitives.ts'

/** Most characters of a file name: id (64), time and extension. */
const MAX_FILE_NAME = 96

/** Most files in one answer, also without a limit. */
export const MAX_LISTED = 1000

const interval = described(numberBetween(1, 86400), 'Time between two screenshots, seconds; from the settings when absent')
const quality = described(integerBetween(1, 100), 'JPEG quality; from the settings when absent')

/** Body of screenshots/start; missing fields come from the settings. */
export const screenshotsStartSchema = v.strictObject({ interval_seconds: v.optional(interval), quality: v.optional(quality) })

/** Query of the snapshot. */
export const snapshotQuerySchema = v.strictObject({
  quality: v.optional(integerInQuery(1, 100, 'JPEG quality; from the settings when absent')),
  width: v.optional(integerInQuery(16, 8192, 'Largest width, pixels')),
})

/** `<pipeline id>_<yyyymmddThhmmssSSSZ>.jpg` */
export const screenshotFileSchema = v.pipe(
  v.string('Use the name of a file'),
  v.maxLength(MAX_FILE_NAME, `Use at most ${MAX_FILE_NAME} characters`),
  v.regex(/^[a-zA-Z0-9_-]{1,64}_\d{8}T\d{9}Z\.jpg$/, 'Use a file name from the list of files'),
  v.description('Name of a file: <pipeline id>_<yyyymmddThhmmssSSSZ>.jpg'),
)

/** For a file that does not exist, and a name that no file can have. */
export const screenshotNotFound = (): ApiError =>
  new ApiError('NOT_FOUND', 'There is no such screenshot. Use a file name from the list of files.')

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/

/** Query of the list of files. */
export const screenshotListSchema = v.strictObject({
  pipeline_id: v.optional(pipelineIdSchema),
  limit: v.optional(integerInQuery(1, MAX_LISTED, 'Maximum number of files in the answer')),
  before: v.optional(
    v.pipe(
      v.string(),
      v.check(
        (text) => ISO_TIME.test(text) && !Number.isNaN(Date.parse(text)),
        'Use the created_at of a file, such as 2026-11-20T10:00:00.000Z',
      ),
      v.metadata({ format: 'date-time', description: 'Only files older than this; the created_at of the last file gives the next page' }),
    ),
  ),
})

/** Query of the deletion of a pipeline's files. */
export const screenshotDeleteSchema = v.strictObject({ pipeline_id: pipelineIdSchema })

/** The schedule of periodic screenshots; restored after a restart of the engine. */
export interface ScreenshotSchedule {
  readonly interval_seconds: number
  readonly quality: number
}

/** A screenshot file; fields missing in its header are null. */
export interface ScreenshotFile {
  readonly file: string
  readonly pipeline_id: string
  /** Time of the frame: ISO 8601 UTC, milliseconds. */
  readonly created_at: string
  readonly size_bytes: number
  readonly width: number | null
  readonly height: number | null
  readonly geolocation: Geolocation | null
}

const size = v.nullable(count)

/** A screenshot file as the API lists it. */
export const screenshotRecordSchema = v.object({
  file: screenshotFileSchema,
  pipeline_id: pipelineIdSchema,
  created_at: described(time, 'Time of the frame'),
  size_bytes: count,
  width: described(size, 'Pixels; null when missing in the header of the file'),
  height: described(size, 'Pixels; null when missing in the header of the file'),
  geolocation: described(v.nullable(geolocationSchema), 'Position of the camera'),
  url: described(v.string(), 'Path of the file'),
})

/** Answer of the deletion of a pipeline's files. */
export const deletedSchema = v.object({ deleted: described(count, 'Files deleted') })
