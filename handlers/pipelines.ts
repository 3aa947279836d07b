import type { ClientLimits } from '../lib/access/client-limits.ts'
import {
  CREATED_ANSWER,
  GEOLOCATION_EXAMPLES,
  PIPELINE_ANSWER,
  PIPELINE_BODY,
  PIPELINES_ANSWER,
  REPLACEMENT_BODY,
} from '../lib/openapi/answers.ts'
import { emptyAnswer, jsonAnswer } from '../lib/openapi/operation.ts'
import { type ChangeDeps, deletePipeline, patchPipeline, replacePipeline } from '../lib/pipelines/change.ts'
import { type CreateDeps, createPipeline, validatePipeline } from '../lib/pipelines/create.ts'
import { getPipeline, listPipelines } from '../lib/pipelines/find.ts'
import { type PlayDeps, playPipeline, stopPipeline } from '../lib/pipelines/play.ts'
import { pipelineFilterSchema, pipelinePatchSchema } from '../lib/schema/pipeline.ts'
import { validationSchema } from '../lib/schema/representation.ts'
import { readJson } from './http/body.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { readQuery } from './http/query.ts'
import { json, noContent } from './http/respond.ts'
import type { FetchHandler, RequestContext, Route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

export interface PipelineRouteDeps extends CreateDeps, ChangeDeps, PlayDeps {
  readonly limits: ClientLimits
}

const BASE = '/svc/pipeline'
const session = { access: 'session' } as const

/** Create, read, replace, patch, delete, play and stop of pipelines. */
export const pipelineRoutes = (deps: PipelineRouteDeps): readonly Route[] => [
  {
    ...session,
    method: 'GET',
    path: BASE,
    operation: 'listPipelines',
    summary: 'List pipelines',
    status: 200,
    errors: ['VALIDATION_ERROR', 'SERVICE_UNAVAILABLE'],
    query: pipelineFilterSchema,
    answer: PIPELINES_ANSWER,
    handle: async ({ url }) => json(await listPipelines(deps, readQuery(url, ['mode', 'on_demand', 'state']))),
  },
  {
    ...session,
    method: 'POST',
    path: BASE,
    operation: 'createPipeline',
    summary: 'Create a pipeline and, unless it is on-demand, start it',
    status: 201,
    errors: [
      'VALIDATION_ERROR',
      'LICENSE_ERROR',
      'LICENSE_LIMIT_EXCEEDED',
      'CONFLICT',
      'PAYLOAD_TOO_LARGE',
      'RATE_LIMITED',
      'ENGINE_ERROR',
      'SERVICE_UNAVAILABLE',
      'PIPELINE_START_TIMEOUT',
    ],
    body: PIPELINE_BODY,
    answer: CREATED_ANSWER,
    handle: async ({ request, context }) => {
      const pipeline = await createPipeline(withBoundedChecks(deps, context), await readJson(request))
      return json(pipeline, 201, { location: `${BASE}/${pipeline.id}` })
    },
  },
  {
    ...session,
    method: 'POST',
    path: `${BASE}/validate`,
    operation: 'validatePipeline',
    summary: 'Check a pipeline without creating it',
    status: 200,
    errors: ['VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
    body: PIPELINE_BODY,
    answer: jsonAnswer('A create with this body would be accepted', validationSchema, {
      valid: { valid: true, launch: 'gst-launch-1.0 …' },
    }),
    handle: async ({ request, context }) => json(await validatePipeline(withBoundedChecks(deps, context), await readJson(request))),
  },
  ...['', '/status'].map(
    (suffix): Route => ({
      ...session,
      method: 'GET',
      path: `${BASE}/:id${suffix}`,
      operation: suffix === '' ? 'getPipeline' : 'getPipelineStatus',
      summary: suffix === '' ? 'Read a pipeline' : 'Read a pipeline; the same as without /status',
      status: 200,
      errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
      answer: PIPELINE_ANSWER,
      handle: async (exchange) => json(await getPipeline(deps, pipelineIdOf(exchange))),
    }),
  ),
  {
    ...session,
    method: 'PUT',
    path: `${BASE}/:id`,
    operation: 'replacePipeline',
    summary: 'Replace the configuration of a pipeline that is not running',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT', 'PAYLOAD_TOO_LARGE', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
    body: REPLACEMENT_BODY,
    answer: PIPELINE_ANSWER,
    handle: async (exchange) =>
      json(await replacePipeline(withBoundedChecks(deps, exchange.context), pipelineIdOf(exchange), await readJson(exchange.request))),
  },
  {
    ...session,
    method: 'PATCH',
    path: `${BASE}/:id`,
    operation: 'patchPipeline',
    summary: 'Set or remove the geolocation of a pipeline',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'PAYLOAD_TOO_LARGE', 'SERVICE_UNAVAILABLE'],
    body: { schema: pipelinePatchSchema, examples: GEOLOCATION_EXAMPLES },
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => json(await patchPipeline(deps, pipelineIdOf(exchange), await readJson(exchange.request))),
  },
  {
    ...session,
    method: 'DELETE',
    path: `${BASE}/:id`,
    operation: 'deletePipeline',
    summary: 'Delete a pipeline that is not running',
    status: 204,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT', 'SERVICE_UNAVAILABLE'],
    answer: emptyAnswer('The pipeline is deleted; its screenshots are kept'),
    handle: async (exchange) => {
      await deletePipeline(deps, pipelineIdOf(exchange))
      return noContent()
    },
  },
  {
    ...session,
    method: 'PUT',
    path: `${BASE}/:id/play`,
    operation: 'playPipeline',
    summary: 'Start a pipeline',
    status: 200,
    errors: [
      'VALIDATION_ERROR',
      'LICENSE_ERROR',
      'LICENSE_LIMIT_EXCEEDED',
      'NOT_FOUND',
      'CONFLICT',
      'ENGINE_ERROR',
      'SERVICE_UNAVAILABLE',
      'PIPELINE_START_TIMEOUT',
    ],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => json(await playPipeline(deps, pipelineIdOf(exchange))),
  },
  {
    ...session,
    method: 'PUT',
    path: `${BASE}/:id/stop`,
    operation: 'stopPipeline',
    summary: 'Stop a pipeline',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => json(await stopPipeline(deps, pipelineIdOf(exchange))),
  },
]

/** The pipeline operations alone, for embedding. */
export const createPipelineHandlers = (deps: PipelineRouteDeps & RouterDeps): FetchHandler => createRouter(pipelineRoutes(deps), deps)

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
