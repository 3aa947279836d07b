import { is } from 'valibot'
import type { JpegAnswer } from '../engine/call.ts'
import type { Screenshots } from '../engine/protocol.ts'
import { messageOf } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Log } from '../ports.ts'
import type { PipelineRepository, SettingsRepository } from '../repositories/repositories.ts'
import {
  MAX_LISTED,
  type ScreenshotFile,
  type ScreenshotSchedule,
  screenshotDeleteSchema,
  screenshotFileSchema,
  screenshotListSchema,
  screenshotNotFound,
  screenshotsStartSchema,
  snapshotQuerySchema,
} from '../schema/screenshot.ts'
import { readSettings } from '../settings/settings.ts'
import { validate } from '../validate.ts'
import { findRecord, unknownIsNotPlaying, whenUnknown } from './find.ts'
import { idleView, type PipelineRepresentation, represent } from './representation.ts'

export interface ScreenshotDeps {
  readonly screenshots: Screenshots
  readonly pipelines: PipelineRepository
  readonly settings: SettingsRepository
  readonly changes: KeyedQueue
  readonly log: Log
}

type Query = Readonly<Record<string, unknown>>

/** Starts periodic screenshots, or changes their schedule; CONFLICT with `details.reason` unless the pipeline plays. */
export const startScreenshots = async (deps: ScreenshotDeps, id: string, input: unknown): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findRecord(deps.pipelines, id)
    const given = validate(screenshotsStartSchema, input, 'screenshot request')
    const defaults = (await readSettings(deps.settings)).screenshots
    const schedule: ScreenshotSchedule = {
      interval_seconds: given.interval_seconds ?? defaults.interval_seconds,
      quality: given.quality ?? defaults.quality,
    }
    const { geolocation } = record
    // Stored first: what cannot be stored takes no pictures.
    await deps.pipelines.setScreenshots(id, schedule)
    try {
      const view = await deps.screenshots.start(id, { ...schedule, geolocation }, { resume: false })
      return represent({ ...record, screenshots: schedule }, view)
    } catch (error) {
      await deps.pipelines
        .setScreenshots(id, record.screenshots ?? null)
        .catch((cause: unknown) => deps.log.warn('screenshots_not_restored', { id, error: messageOf(cause) }))
      return unknownIsNotPlaying(id)(error)
    }
  })

/** Stops periodic screenshots; no effect when there are none. */
export const stopScreenshots = async (deps: ScreenshotDeps, id: string): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findRecord(deps.pipelines, id)
    const view = await deps.screenshots.stop(id).catch(whenUnknown(idleView(record)))
    await deps.pipelines.setScreenshots(id, null)
    return represent({ ...record, screenshots: null }, view)
  })

/** The current picture; CONFLICT with `details.reason` when there is none. */
export const takeSnapshot = async (
  deps: Pick<ScreenshotDeps, 'screenshots' | 'pipelines'>,
  id: string,
  query: Query,
): Promise<JpegAnswer> => {
  const format = validate(snapshotQuerySchema, query, 'query')
  await findRecord(deps.pipelines, id)
  return deps.screenshots.snapshot(id, format).catch(unknownIsNotPlaying(id))
}

export const FILES_PATH = '/svc/files/screenshots'

/** A page of screenshot files, newest first. */
export const listScreenshots = async ({ screenshots }: Pick<ScreenshotDeps, 'screenshots'>, query: Query) => {
  const { pipeline_id, before, limit = MAX_LISTED } = validate(screenshotListSchema, query, 'query')
  const files = await screenshots.list({ pipeline_id, limit, ...(before !== undefined && { before: Date.parse(before) }) })
  return { files: files.map(withUrl), limit }
}

const withUrl = (file: ScreenshotFile) => ({ ...file, url: `${FILES_PATH}/${file.file}` })

/** A file name from a path. NOT_FOUND unless it has the form of our names, which cannot leave the folder. */
export const parseFile = (name: string | undefined): string => {
  if (!is(screenshotFileSchema, name)) throw screenshotNotFound()
  return name
}

/** Deletes the files of a pipeline, which may be deleted itself; VALIDATION_ERROR without its id. */
export const deleteScreenshotsOf = async ({ screenshots }: Pick<ScreenshotDeps, 'screenshots'>, query: Query): Promise<number> => {
  return (await screenshots.removeOf(validate(screenshotDeleteSchema, query, 'query'))).deleted
}
