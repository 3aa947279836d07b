import type { JpegAnswer } from '../engine/call.ts'
import type { Screenshots } from '../engine/protocol.ts'
import { ApiError } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { PipelineRecord, PipelineRepository, SettingsRepository } from '../repositories.ts'
import {
  MAX_LISTED,
  type ScreenshotFile,
  screenshotDeleteSchema,
  screenshotFileSchema,
  screenshotListSchema,
  screenshotsStartSchema,
  snapshotQuerySchema,
} from '../schema/screenshot.ts'
import { readSettings } from '../settings.ts'
import { validate } from '../validate.ts'
import { type PipelineRepresentation, represent } from './representation.ts'

export interface ScreenshotDeps {
  readonly screenshots: Screenshots
  readonly pipelines: PipelineRepository
  readonly settings: SettingsRepository
  readonly changes: KeyedQueue
}

type Query = Readonly<Record<string, unknown>>

/** Starts periodic screenshots, or gives running ones new values; CONFLICT with `details.reason` unless the pipeline plays. */
export const startScreenshots = async (deps: ScreenshotDeps, id: string, input: unknown): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findRecord(deps, id)
    const given = validate(screenshotsStartSchema, input, 'screenshot request')
    const defaults = (await readSettings(deps.settings)).screenshots
    const wish = {
      interval_seconds: given.interval_seconds ?? defaults.interval_seconds,
      quality: given.quality ?? defaults.quality,
    }
    const { geolocation } = record
    const view = await deps.screenshots.start(id, { ...wish, geolocation }, { resume: false }).catch(lostIsNotPlaying(id))
    await deps.pipelines.setScreenshots(id, wish)
    return represent({ ...record, screenshots: wish }, view)
  })

/** Ends periodic screenshots; nothing to do when there are none. */
export const stopScreenshots = async (deps: ScreenshotDeps, id: string): Promise<PipelineRepresentation> =>
  deps.changes(id, async () => {
    const record = await findRecord(deps, id)
    await deps.pipelines.setScreenshots(id, null)
    return represent({ ...record, screenshots: null }, await deps.screenshots.stop(id))
  })

/** The picture of now; CONFLICT with `details.reason` when there is none. */
export const takeSnapshot = async (
  deps: Pick<ScreenshotDeps, 'screenshots' | 'pipelines'>,
  id: string,
  query: Query,
): Promise<JpegAnswer> => {
  const format = validate(snapshotQuerySchema, query, 'query')
  await findRecord(deps, id)
  return deps.screenshots.snapshot(id, format).catch(lostIsNotPlaying(id))
}

export const FILES_PATH = '/svc/files/screenshots'

/** A page of screenshot files, the newest first. */
export const listScreenshots = async ({ screenshots }: Pick<ScreenshotDeps, 'screenshots'>, query: Query) => {
  const { pipeline_id, before, limit = MAX_LISTED } = validate(screenshotListSchema, query, 'query')
  const files = await screenshots.list({ pipeline_id, limit, ...(before !== undefined && { before: Date.parse(before) }) })
  return { files: files.map(withUrl), limit }
}

const withUrl = (file: ScreenshotFile) => ({ ...file, url: `${FILES_PATH}/${file.file}` })

/** The name of a file from a path, VALIDATION_ERROR for what cannot be one: no name of ours leads out of the folder. */
export const parseFile = (name: string | undefined): string => validate(screenshotFileSchema, name, 'file name')

/** Deletes the files of a pipeline, also of one that is no more; VALIDATION_ERROR without its id. */
export const deleteScreenshotsOf = async ({ screenshots }: Pick<ScreenshotDeps, 'screenshots'>, query: Query): Promise<number> => {
  return (await screenshots.removeOf(validate(screenshotDeleteSchema, query, 'query'))).deleted
}

const findRecord = async ({ pipelines }: Pick<ScreenshotDeps, 'pipelines'>, id: string): Promise<PipelineRecord> => {
  const record = await pipelines.find(id)
  if (record === undefined) throw new ApiError('NOT_FOUND', `There is no pipeline with the id ${id}.`)
  return record
}

/** A pipeline that is stored but that the engine does not hold plays nothing. */
const lostIsNotPlaying =
  (id: string) =>
  (error: unknown): never => {
    if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) throw error
    throw new ApiError('CONFLICT', `The pipeline ${id} is not playing. Start it first.`, { reason: 'not_playing' }, { cause: error })
  }
