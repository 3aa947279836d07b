import { PIPELINE_ANSWER } from '../lib/openapi/answers.ts'
import { jpegAnswer, knownPictureAnswer } from '../lib/openapi/operation.ts'
import { type ScreenshotDeps, startScreenshots, stopScreenshots, takeSnapshot } from '../lib/pipelines/screenshots.ts'
import { screenshotsStartSchema, snapshotQuerySchema } from '../lib/schema/screenshot.ts'
import { readOptionalJson } from './http/body.ts'
import { jpeg } from './http/jpeg.ts'
import { pipelineAnswer } from './http/pipeline-answer.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { readQuery } from './http/query.ts'
import { type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

const BASE = '/svc/pipeline/:id'

/** Periodic screenshots of a pipeline, and its current picture. */
export const screenshotRoutes = (deps: ScreenshotDeps) => [
  route({
    method: 'PUT',
    path: `${BASE}/screenshots/start`,
    access: 'session',
    operation: 'startScreenshots',
    summary: 'Start periodic screenshots of a playing pipeline, or change their interval and quality',
    description: 'Omitted fields use the settings. The files are listed at /svc/files/screenshots.',
    status: 200,
    errors: ['NOT_FOUND', 'CONFLICT', 'PAYLOAD_TOO_LARGE', 'SERVICE_UNAVAILABLE'],
    body: { schema: screenshotsStartSchema, optional: true, examples: { every_minute: { interval_seconds: 60, quality: 90 } } },
    answer: PIPELINE_ANSWER,
    handle: async (exchange) =>
      pipelineAnswer(await startScreenshots(deps, pipelineIdOf(exchange), await readOptionalJson(exchange.request))),
  }),
  route({
    method: 'PUT',
    path: `${BASE}/screenshots/stop`,
    access: 'session',
    operation: 'stopScreenshots',
    summary: 'Stop periodic screenshots',
    description: 'The files stay. Without effect if no screenshots are being taken.',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => pipelineAnswer(await stopScreenshots(deps, pipelineIdOf(exchange))),
  }),
  route({
    method: 'GET',
    path: `${BASE}/snapshot`,
    access: 'session',
    isMedia: true,
    operation: 'getSnapshot',
    summary: 'Take a snapshot: the current picture as JPEG',
    description: 'The picture is decoded from the stream on request; concurrent requests share it.',
    status: 200,
    errors: ['NOT_FOUND', 'CONFLICT', 'ENGINE_ERROR', 'SERVICE_UNAVAILABLE'],
    query: snapshotQuerySchema,
    answer: jpegAnswer('The current picture, at most one second old', {
      age: 'Age of the picture, whole seconds',
      'x-age-ms': 'Age of the picture, milliseconds',
    }),
    otherAnswers: { 304: knownPictureAnswer() },
    handle: async (exchange) =>
      jpeg(exchange.request, await takeSnapshot(deps, pipelineIdOf(exchange), readQuery(exchange.url, ['quality', 'width']))),
  }),
]

/** Screenshots and snapshot alone, for embedding. */
export const createScreenshotHandlers = (deps: ScreenshotDeps & RouterDeps): FetchHandler =>
  createRouter(screenshotRoutes(deps), deps).fetch
