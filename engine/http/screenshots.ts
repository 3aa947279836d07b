import * as v from 'valibot'
import { ApiError } from '../../lib/errors.ts'
import { geolocationSchema } from '../../lib/schema/pipeline.ts'
import { screenshotsStartSchema } from '../../lib/schema/screenshot.ts'
import { validate } from '../../lib/validate.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import { diskFault } from '../screenshots/files/disk-error.ts'
import type { FileStore } from '../screenshots/files/file-store.ts'
import { pipelinePath } from './pipelines.ts'
import { type EngineCall, type EngineRoute, RawAnswer } from './server.ts'

export interface ScreenshotRoutesDeps {
  readonly supervisor: Pick<Supervisor, 'screenshots' | 'settings' | 'view'>
  readonly files: FileStore
}

const startSchema = v.required(v.strictObject({ ...screenshotsStartSchema.entries, geolocation: v.nullable(geolocationSchema) }))
const locationSchema = v.strictObject({ geolocation: v.nullable(geolocationSchema) })

/** Snapshots, periodic screenshots and their files. */
export const screenshotRoutes = ({ supervisor, files }: ScreenshotRoutesDeps): readonly EngineRoute[] => [
  {
    method: 'POST',
    path: pipelinePath('/screenshots/start'),
    answer: async ({ id, query, body }) => {
      const { geolocation, ...wish } = validate(startSchema, await body(), 'screenshot request')
      const screenshots = supervisor.screenshots(id)
      screenshots.locate(geolocation)
      screenshots.start(wish, { resume: query.has('resume') })
      return supervisor.view(id)
    },
  },
  {
    method: 'POST',
    path: pipelinePath('/screenshots/stop'),
    answer: ({ id }) => {
      supervisor.screenshots(id).stop()
      return supervisor.view(id)
    },
  },
  {
    method: 'PUT',
    path: pipelinePath('/geolocation'),
    answer: async ({ id, body }) => supervisor.screenshots(id).locate(validate(locationSchema, await body(), 'geolocation').geolocation),
  },
  {
    method: 'GET',
    path: pipelinePath('/snapshot'),
    answer: async ({ id, query }) => {
      const quality = numberOf(query, 'quality') ?? supervisor.settings.screenshots.quality
      const { jpeg, etag, takenAt } = await supervisor.screenshots(id).snapshot({ quality, width: numberOf(query, 'width') ?? null })
      const headers = { ...jpegHeaders(etag, takenAt), 'x-age-ms': Math.max(0, Date.now() - takenAt) }
      return new RawAnswer(200, { ...headers, 'content-length': jpeg.length }, jpeg)
    },
  },
  {
    method: 'GET',
    path: /^\/screenshots$/,
    answer: ({ query }) =>
      orTrouble(
        files.list({
          pipelineId: query.get('pipeline_id') ?? undefined,
          before: numberOf(query, 'before'),
          limit: numberOf(query, 'limit') ?? 1,
        }),
      ),
  },
  { method: 'GET', path: /^\/screenshots\/([^/]+)$/, answer: (call) => orTrouble(download(files, call)) },
  { method: 'DELETE', path: /^\/screenshots\/([^/]+)$/, answer: ({ id }) => orTrouble(files.remove(id)) },
  {
    method: 'DELETE',
    path: /^\/screenshots$/,
    answer: async ({ query }) => ({ deleted: await orTrouble(files.removeOf(query.get('pipeline_id') ?? '')) }),
  },
]

const download = async (files: FileStore, { id }: EngineCall): Promise<RawAnswer> => {
  const { file, handle } = await files.openFile(id)
  try {
    const { size } = await handle.stat()
    // The name of a file is given once: time and size are enough to tell two contents apart.
    const headers = jpegHeaders(`"${file.createdAt.toString(36)}-${size.toString(36)}"`, file.createdAt)
    const stream = handle.createReadStream({ end: Math.max(0, size - 1) })
    return new RawAnswer(200, { ...headers, 'content-length': size }, stream)
  } catch (error) {
    await handle.close()
    throw error
  }
}

const jpegHeaders = (etag: string, createdAt: number) => ({
  'content-type': 'image/jpeg',
  etag,
  'last-modified': new Date(createdAt).toUTCString(),
  'x-created-at': new Date(createdAt).toISOString(),
})

const numberOf = (query: URLSearchParams, name: string): number | undefined => {
  const value = Number(query.get(name) ?? Number.NaN)
  return Number.isFinite(value) ? value : undefined
}

/** The file system's complaint in words for a user. */
const orTrouble = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    if (error instanceof ApiError) throw error
    const { reason, what } = diskFault(error)
    throw new ApiError('SERVICE_UNAVAILABLE', `The screenshots cannot be read or deleted: ${what}.`, { reason }, { cause: error })
  }
}
