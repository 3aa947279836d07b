import type { CameraWatch } from '../lib/events/cameras.ts'
import type { EventHub } from '../lib/events/hub.ts'
import { CAMERA_EVENTS, PIPELINE_EVENTS } from '../lib/openapi/answers.ts'
import { eventsAnswer } from '../lib/openapi/operation.ts'
import { findRecord } from '../lib/pipelines/find.ts'
import type { PipelineRepository } from '../lib/repositories.ts'
import { pipelineIdSchema } from '../lib/schema/pipeline.ts'
import { validate } from '../lib/validate.ts'
import type { Exchange, FetchHandler, Route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'
import { eventStream } from './http/sse.ts'

export interface EventDeps {
  readonly pipelines: Pick<PipelineRepository, 'find'>
  readonly events: EventHub
  readonly cameraWatch: CameraWatch
}

/** Events that come with every packet have a stream of their own. */
const FREQUENT: ReadonlySet<string> = new Set(['klv'])

/** The events of one pipeline, and of everything. */
export const eventRoutes = ({ pipelines, events, cameraWatch }: EventDeps): readonly Route[] => [
  {
    access: 'session',
    method: 'GET',
    path: '/svc/pipeline/:id/status/events',
    operation: 'followPipeline',
    summary: 'Server-Sent Events of a pipeline: pipeline_status (the present one at once), pipeline_error, pipeline_not_found',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: eventsAnswer('Events of the pipeline; the stream ends after pipeline_not_found', PIPELINE_EVENTS),
    handle: async (exchange) => {
      const id = validate(pipelineIdSchema, exchange.params.id, 'pipeline id')
      await findRecord(pipelines, id)
      return eventStream({
        ...clientOf(exchange),
        feed: events.feed,
        filter: ({ pipelineId, event }) => pipelineId === id && event.startsWith('pipeline_'),
        greet: () => events.greet(id),
        isLast: ({ event }) => event === 'pipeline_not_found',
      })
    },
  },
  {
    access: 'session',
    method: 'GET',
    path: '/svc/events',
    operation: 'followEverything',
    summary: 'Server-Sent Events of all pipelines and cameras; the present status of each pipeline at once, unless Last-Event-ID resumes',
    status: 200,
    errors: [],
    answer: eventsAnswer('Events of all pipelines and cameras', { ...PIPELINE_EVENTS, ...CAMERA_EVENTS }),
    handle: (exchange) => {
      const client = clientOf(exchange)
      // Pipelines are told of also on a host that cannot tell its cameras.
      cameraWatch.begin().catch(() => {})
      return eventStream({
        ...client,
        feed: events.feed,
        filter: ({ event }) => !FREQUENT.has(event),
        greet: events.feed.resumes(client.lastEventId) ? undefined : () => events.greetAll(),
      })
    },
  },
]

/** What a stream needs to know of the client that follows it. */
export const clientOf = ({ request, context }: Exchange) => ({
  lastEventId: request.headers.get('last-event-id'),
  signal: request.signal,
  disconnect: context.disconnect,
})

/** The event streams alone, for embedding. */
export const createEventHandlers = (deps: EventDeps & RouterDeps): FetchHandler => createRouter(eventRoutes(deps), deps)
