import type { ClientLimits } from '../lib/access/client-limits.ts'
import {
  CREATED_ANSWER,
  GEOLOCATION_EXAMPLES,
  PIPELINE_ANSWER,
  PIPELINE_BODY,
  PIPELINES_ANSWER,
  REPLACEMENT_BODY,
} from '../lib/openapi/answers.ts'
import { TEST_REPORT } from '../lib/openapi/examples.ts'
import { emptyAnswer, jsonAnswer } from '../lib/openapi/operation.ts'
import { type ChangeDeps, deletePipeline, patchPipeline, replacePipeline } from '../lib/pipelines/change.ts'
import { type CreateDeps, createPipeline, validatePipeline } from '../lib/pipelines/create.ts'
import { type FindDeps, getPipeline, listPipelines } from '../lib/pipelines/find.ts'
import { type PlayDeps, playPipeline, stopPipeline } from '../lib/pipelines/play.ts'
import { etagOfRecord, serialize } from '../lib/pipelines/serialize.ts'
import { type TestDeps, testPipeline } from '../lib/pipelines/test-pipeline.ts'
import type { PipelineRepository } from '../lib/repositories/repositories.ts'
import { pipelineFilterSchema, pipelinePatchSchema, startQuerySchema } from '../lib/schema/pipeline.ts'
import { testReportSchema, validationSchema } from '../lib/schema/representation.ts'
import { readJson } from './http/body.ts'
import { ifMatchOf } from './http/conditional-request.ts'
import { createListAnswer } from './http/list-answer.ts'
import { pipelineAnswer } from './http/pipeline-answer.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { readQuery } from './http/query.ts'
import { json, noContent, readyHeaders } from './http/respond.ts'
import { type FetchHandler, type ReadRequest, type RequestContext, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

export interface PipelineRouteDeps extends CreateDeps, ChangeDeps, PlayDeps, FindDeps, TestDeps {
  readonly screenshots: TestDeps['screenshots']
  readonly pipelines: PipelineRepository
  readonly limits: ClientLimits
}

const BASE = '/svc/pipeline'
const session = { access: 'session' } as const
const WITH_ETAG = 'Send its ETag as If-Match with a change, which is refused if the pipeline has changed since.'

/** Common to both addresses of a pipeline. */
const answersOne = (deps: PipelineRouteDeps) =>
  ({
    description: WITH_ETAG,
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: PIPELINE_ANSWER,
    read: async (request: ReadRequest) => {
      const found = await getPipeline(deps, pipelineIdOf(request))
      return { status: 200, headers: readyHeaders({ etag: await etagOfRecord(found.record) }), body: serialize(found) }
    },
  }) as const

const listRoute = (deps: PipelineRouteDeps, list: ReturnType<typeof createListAnswer>) =>
  route({
    ...session,
    method: 'GET',
    path: BASE,
    operation: 'listPipelines',
    summary: 'List pipelines',
    description: 'All of them, without paging. Filters can be combined.',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    query: pipelineFilterSchema,
    answer: PIPELINES_ANSWER,
    read: async ({ url }) => list(await listPipelines(deps, readQuery(url, ['mode', 'on_demand', 'state']))),
  })

const CREATE_ERRORS = [
  'LICENSE_ERROR',
  'LICENSE_LIMIT_EXCEEDED',
  'CONFLICT',
  'PAYLOAD_TOO_LARGE',
  'RATE_LIMITED',
  'ENGINE_ERROR',
  'SERVICE_UNAVAILABLE',
  'PIPELINE_START_TIMEOUT',
] as const

const createRoute = (deps: PipelineRouteDeps) =>
  route({
    ...session,
    method: 'POST',
    path: BASE,
    operation: 'createPipeline',
    summary: 'Create a pipeline and, unless it is on-demand, start it',
    description:
      'Answers after the first key frame, or at once if it is on-demand. A pipeline that does not start within start_timeout_seconds is not stored. start=background stores it at once, as ready, and goes on trying; what no attempt can mend fails also then.',
    status: 201,
    query: startQuerySchema,
    errors: CREATE_ERRORS,
    body: PIPELINE_BODY,
    answer: CREATED_ANSWER,
    handle: async ({ request, context, url }) => {
      const query = readQuery(url, ['start'])
      const pipeline = await createPipeline(withBoundedChecks(deps, context), await readJson(request), query)
      return pipelineAnswer(pipeline, 201, { location: `${BASE}/${pipeline.id}` })
    },
  })

const validateRoute = (deps: PipelineRouteDeps) =>
  route({
    ...session,
    method: 'POST',
    path: `${BASE}/validate`,
    operation: 'validatePipeline',
    summary: 'Check a pipeline without creating it',
    description:
      'GStreamer parses the description, and nothing runs. Neither the source nor the license is checked. Masked credentials (***) stand for those stored under the id.',
    status: 200,
    errors: ['PAYLOAD_TOO_LARGE', 'RATE_LIMITED', 'ENGINE_ERROR', 'SERVICE_UNAVAILABLE'],
    body: PIPELINE_BODY,
    answer: jsonAnswer('The pipeline is valid', validationSchema, {
      valid: { valid: true, launch: 'gst-launch-1.0 …' },
    }),
    handle: async ({ request, context }) => json(await validatePipeline(withBoundedChecks(deps, context), await readJson(request))),
  })

const testRoute = (deps: PipelineRouteDeps) =>
  route({
    ...session,
    method: 'POST',
    path: `${BASE}/test`,
    operation: 'testPipeline',
    summary: 'Try a pipeline without creating it: what its source sends, with a picture',
    description:
      'Runs it for about a second after its first key frame, as a stream of the license; fails as a create does. Nothing is stored or pushed. Masked credentials (***) stand for those stored under the id.',
    status: 200,
    errors: CREATE_ERRORS,
    body: PIPELINE_BODY,
    answer: jsonAnswer('What came', testReportSchema, { camera: TEST_REPORT }),
    handle: async ({ request, context }) => {
      const input = await readJson(request)
      return json(await deps.limits.dryRun(context.clientAddress, () => testPipeline(deps, input, request.signal)))
    },
  })

const creationRoutes = (deps: PipelineRouteDeps) => [createRoute(deps), validateRoute(deps), testRoute(deps)]

const readRoutes = (deps: PipelineRouteDeps) => [
  route({
    ...session,
    method: 'GET',
    path: `${BASE}/:id`,
    operation: 'getPipeline',
    summary: 'Read a pipeline',
    ...answersOne(deps),
  }),
  route({
    ...session,
    method: 'GET',
    path: `${BASE}/:id/status`,
    operation: 'getPipelineStatus',
    summary: 'Read a pipeline; the same as without /status',
    ...answersOne(deps),
  }),
]

const replaceRoute = (deps: PipelineRouteDeps) =>
  route({
    ...session,
    method: 'PUT',
    path: `${BASE}/:id`,
    operation: 'replacePipeline',
    summary: 'Replace the configuration of a pipeline that is not running',
    description: 'Omitted fields get their defaults. Masked credentials (***) keep the stored ones.',
    status: 200,
    errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED', 'PAYLOAD_TOO_LARGE', 'RATE_LIMITED', 'ENGINE_ERROR', 'SERVICE_UNAVAILABLE'],
    body: REPLACEMENT_BODY,
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => {
      const { request, context } = exchange
      return pipelineAnswer(
        await replacePipeline(withBoundedChecks(deps, context), pipelineIdOf(exchange), await readJson(request), ifMatchOf(request)),
      )
    },
  })

const patchRoute = (deps: PipelineRouteDeps) =>
  route({
    ...session,
    method: 'PATCH',
    path: `${BASE}/:id`,
    operation: 'patchPipeline',
    summary: 'Set or remove the geolocation of a pipeline',
    description: 'Also while the pipeline plays. A later position from KLV replaces it if auto_extract_geolocation is set.',
    status: 200,
    errors: ['NOT_FOUND', 'PRECONDITION_FAILED', 'PAYLOAD_TOO_LARGE', 'SERVICE_UNAVAILABLE'],
    body: { schema: pipelinePatchSchema, examples: GEOLOCATION_EXAMPLES },
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => {
      const { request } = exchange
      return pipelineAnswer(await patchPipeline(deps, pipelineIdOf(exchange), await readJson(request), ifMatchOf(request)))
    },
  })

const deleteRoute = (deps: PipelineRouteDeps) =>
  route({
    ...session,
    method: 'DELETE',
    path: `${BASE}/:id`,
    operation: 'deletePipeline',
    summary: 'Delete a pipeline that is not running',
    description: 'Its screenshot files stay.',
    status: 204,
    errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED', 'SERVICE_UNAVAILABLE'],
    answer: emptyAnswer('The pipeline is deleted; its screenshots are kept'),
    handle: async (exchange) => {
      await deletePipeline(deps, pipelineIdOf(exchange), ifMatchOf(exchange.request))
      return noContent()
    },
  })

const changeRoutes = (deps: PipelineRouteDeps) => [replaceRoute(deps), patchRoute(deps), deleteRoute(deps)]

const runRoutes = (deps: PipelineRouteDeps) => [
  route({
    ...session,
    method: 'PUT',
    path: `${BASE}/:id/play`,
    operation: 'playPipeline',
    summary: 'Start a pipeline',
    description:
      'Answers after the first key frame, or at once if it already plays. start=background answers at once, and goes on trying. The pipeline starts with the service again, also after a stop before.',
    status: 200,
    query: startQuerySchema,
    errors: [
      'LICENSE_ERROR',
      'LICENSE_LIMIT_EXCEEDED',
      'NOT_FOUND',
      'CONFLICT',
      'ENGINE_ERROR',
      'SERVICE_UNAVAILABLE',
      'PIPELINE_START_TIMEOUT',
    ],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => pipelineAnswer(await playPipeline(deps, pipelineIdOf(exchange), readQuery(exchange.url, ['start']))),
  }),
  route({
    ...session,
    method: 'PUT',
    path: `${BASE}/:id/stop`,
    operation: 'stopPipeline',
    summary: 'Stop a pipeline',
    description:
      'Also cancels a start. Answers when the process of the pipeline has ended. It stays stopped until it is played, also over restarts.',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => pipelineAnswer(await stopPipeline(deps, pipelineIdOf(exchange))),
  }),
]

/** Create, read, replace, patch, delete, play and stop of pipelines. */
export const pipelineRoutes = (deps: PipelineRouteDeps) => [
  listRoute(deps, createListAnswer()),
  ...creationRoutes(deps),
  ...readRoutes(deps),
  ...changeRoutes(deps),
  ...runRoutes(deps),
]

/** The pipeline operations alone, for embedding. */
export const createPipelineHandlers = (deps: PipelineRouteDeps & RouterDeps): FetchHandler => createRouter(pipelineRoutes(deps), deps).fetch

/** The engine, with a bounded number of dry runs per client: each runs GStreamer processes. */
const withBoundedChecks = (deps: PipelineRouteDeps, { clientAddress }: RequestContext): PipelineRouteDeps => {
  const { engine, limits } = deps
  return {
    ...deps,
    engine: {
      ...engine,
      check: (config) => (config.mode === 'advanced' ? limits.dryRun(clientAddress, () => engine.check(config)) : engine.check(config)),
    },
  }
}
