import { jsonAnswer } from '../lib/openapi/operation.ts'
import { triggerAnswerSchema, triggerQuerySchema } from '../lib/schema/trigger.ts'
import type { Triggers } from '../lib/triggers/triggers.ts'
import { readQuery } from './http/query.ts'
import { json } from './http/respond.ts'
import { type Exchange, type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

export interface TriggerDeps {
  readonly triggers: Triggers
}

const trigger = { access: 'api_key', path: '/svc/triggers/mediaServer/publish', status: 200 } as const

/** Calls from a media server when a stream is published and when it ends. */
export const triggerRoutes = ({ triggers }: TriggerDeps) => [
  route({
    ...trigger,
    method: 'PUT',
    operation: 'publishStream',
    summary: 'A stream was published at `path`: create its pipeline and start it',
    description: 'Answers after the first key frame. A repeated call changes nothing while the pipeline plays, and restarts it otherwise.',
    errors: ['LICENSE_ERROR', 'LICENSE_LIMIT_EXCEEDED', 'CONFLICT', 'ENGINE_ERROR', 'SERVICE_UNAVAILABLE', 'PIPELINE_START_TIMEOUT'],
    query: triggerQuerySchema,
    answer: jsonAnswer('The pipeline is playing', triggerAnswerSchema, { play: { status: 'ok', pipelineId: 'drone7', action: 'play' } }),
    handle: async (exchange) => json(await triggers.publish(queryOf(exchange), exchange.began)),
  }),
  route({
    ...trigger,
    method: 'DELETE',
    operation: 'unpublishStream',
    summary: 'The stream at `path` ended: stop and remove its pipeline, also one that is still starting',
    description: 'An unknown stream is not an error.',
    errors: ['CONFLICT', 'SERVICE_UNAVAILABLE'],
    query: triggerQuerySchema,
    answer: jsonAnswer('The pipeline is stopped and removed', triggerAnswerSchema, {
      stop: { status: 'ok', pipelineId: 'drone7', action: 'stop' },
    }),
    handle: async (exchange) => json(await triggers.unpublish(queryOf(exchange), exchange.began)),
  }),
]

/** The triggers alone, for embedding. */
export const createTriggerHandlers = (deps: TriggerDeps & RouterDeps): FetchHandler => createRouter(triggerRoutes(deps), deps).fetch

const queryOf = ({ url }: Exchange): Record<string, string> => readQuery(url, ['path', 'pipelineId'])
