import * as v from 'valibot'
import { SCREENSHOT } from '../lib/openapi/examples.ts'
import { emptyAnswer, jpegAnswer, jsonAnswer, knownPictureAnswer } from '../lib/openapi/operation.ts'
import { deleteScreenshotsOf, FILES_PATH, listScreenshots, parseFile, type ScreenshotDeps } from '../lib/pipelines/screenshots.ts'
import { deletedSchema, screenshotDeleteSchema, screenshotListSchema, screenshotRecordSchema } from '../lib/schema/screenshot.ts'
import { jpeg } from './http/jpeg.ts'
import { readQuery } from './http/query.ts'
import { json, noContent } from './http/respond.ts'
import { type Exchange, type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

type FileDeps = Pick<ScreenshotDeps, 'screenshots'>

const allFilesRoutes = (deps: FileDeps) => [
  route({
    method: 'GET',
    path: FILES_PATH,
    access: 'session',
    operation: 'listScreenshots',
    summary: 'List screenshot files, newest first, in pages of at most 1000',
    description: 'The header field Link is the address of the next page.',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    query: screenshotListSchema,
    answer: jsonAnswer(
      'The files, newest first',
      v.array(screenshotRecordSchema),
      { one: [SCREENSHOT] },
      { link: 'The next page (RFC 8288), if there may be more files' },
    ),
    handle: async ({ url }) => {
      const { files, limit } = await listScreenshots(deps, readQuery(url, ['pipeline_id', 'limit', 'before']))
      const last = files.length < limit ? undefined : files.at(-1)?.created_at
      return json(files, 200, last === undefined ? {} : { link: nextPage(url, last) })
    },
  }),
  route({
    method: 'DELETE',
    path: FILES_PATH,
    access: 'session',
    limit: { name: 'delete-screenshots', requests: 10, window_seconds: 60 },
    operation: 'deleteScreenshots',
    summary: 'Delete all screenshot files of a pipeline',
    description: 'Also after the pipeline itself was deleted.',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    query: screenshotDeleteSchema,
    answer: jsonAnswer('Number of deleted files', deletedSchema, { some: { deleted: 12 } }),
    handle: async ({ url }) => json({ deleted: await deleteScreenshotsOf(deps, readQuery(url, ['pipeline_id'])) }),
  }),
]

const oneFileRoutes = (deps: FileDeps) => [
  route({
    method: 'GET',
    path: `${FILES_PATH}/:file`,
    access: 'session',
    operation: 'getScreenshot',
    summary: 'Download a screenshot file',
    description: 'Time and position are also in the file (Exif).',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: jpegAnswer('The picture', { 'content-disposition': 'inline, with the name of the file' }),
    otherAnswers: { 304: knownPictureAnswer() },
    handle: async (exchange) => {
      const file = fileOf(exchange)
      return jpeg(exchange.request, await deps.screenshots.read(file), { 'content-disposition': `inline; filename="${file}"` })
    },
  }),
  route({
    method: 'DELETE',
    path: `${FILES_PATH}/:file`,
    access: 'session',
    limit: { name: 'delete-screenshot', requests: 60, window_seconds: 60 },
    operation: 'deleteScreenshot',
    summary: 'Delete a screenshot file',
    description: 'It cannot be restored.',
    status: 204,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: emptyAnswer('The file is deleted'),
    handle: async (exchange) => {
      await deps.screenshots.remove(fileOf(exchange))
      return noContent()
    },
  }),
]

/** The screenshot files: list, download and delete. */
export const fileRoutes = (deps: FileDeps) => [...allFilesRoutes(deps), ...oneFileRoutes(deps)]

/** The file operations alone, for embedding. */
export const createFileHandlers = (deps: FileDeps & RouterDeps): FetchHandler => createRouter(fileRoutes(deps), deps).fetch

const fileOf = ({ params }: Exchange): string => parseFile(params.file)

/** RFC 8288. */
const nextPage = (url: URL, before: string): string => {
  const query = new URLSearchParams(url.searchParams)
  query.set('before', before)
  return `<${FILES_PATH}?${query}>; rel="next"`
}
