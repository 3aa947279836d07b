import { ApiError } from '../../lib/errors.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import { diskFault, errorCode } from '../screenshots/files/disk-error.ts'
import type { FileStore } from '../screenshots/files/file-store.ts'
import type { Answers, Jpeg } from './dispatch.ts'

interface ScreenshotAnswersDeps {
  readonly supervisor: Pick<Supervisor, 'screenshots' | 'settings' | 'view'>
  readonly files: FileStore
}

/** Snapshots, periodic screenshots and their files. */
export const screenshotAnswers = ({ supervisor, files }: ScreenshotAnswersDeps): Answers<'screenshots'> => ({
  start: (id, { geolocation, ...schedule }, { resume }) => {
    const screenshots = supervisor.screenshots(id)
    screenshots.locate(geolocation)
    screenshots.start(schedule, { resume })
    return supervisor.view(id)
  },
  stop: (id) => {
    supervisor.screenshots(id).stop()
    return supervisor.view(id)
  },
  locate: (id, { geolocation }) => supervisor.screenshots(id).locate(geolocation),
  snapshot: async (id, { quality = supervisor.settings.screenshots.quality, width = null }) => {
    const { jpeg, etag, takenAt } = await supervisor.screenshots(id).snapshot({ quality, width })
    const ageMs = Math.max(0, Date.now() - takenAt)
    return { headers: { ...jpegHeaders(etag, takenAt), 'x-age-ms': ageMs, 'content-length': jpeg.length }, body: jpeg }
  },
  list: ({ pipeline_id: pipelineId, before, limit }) => orDiskFault(files.list({ pipelineId, before, limit })),
  read: (file) => orDiskFault(download(files, file)),
  remove: (file) => orDiskFault(files.remove(file)),
  removeOf: async ({ pipeline_id }) => ({ deleted: await orDiskFault(files.removeOf(pipeline_id)) }),
})

const download = async (files: FileStore, name: string): Promise<Jpeg> => {
  const { file, handle } = await files.openFile(name)
  try {
    const { size } = await handle.stat()
    // A file name is used once: time and size are enough to distinguish two contents.
    const headers = jpegHeaders(`"${file.createdAt.toString(36)}-${size.toString(36)}"`, file.createdAt)
    const body = handle.createReadStream({ end: Math.max(0, size - 1) })
    return { headers: { ...headers, 'content-length': size }, body }
  } catch (error) {
    await handle.close()
    throw error
  }
}

const jpegHeaders = (etag: string, createdAt: number) => ({
  etag,
  'last-modified': new Date(createdAt).toUTCString(),
  'x-created-at': new Date(createdAt).toISOString(),
})

/** Turns an error of the file system into an ApiError for a user. */
const orDiskFault = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    const { reason, what } = diskFault(error)
    throw new ApiError('SERVICE_UNAVAILABLE', `The screenshots cannot be read or deleted: ${what}.`, { reason }, { cause: error })
  }
}
