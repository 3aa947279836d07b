import type { Streams } from '../lib/access/streams.ts'
import type { CameraWatch } from '../lib/events/cameras.ts'
import type { EventHub } from '../lib/events/hub.ts'
import { CAMERA_EVENTS, PIPELINE_EVENTS } from '../lib/openapi/answers.ts'
import { eventsAnswer } from '../lib/openapi/operation.ts'
import { findRecord } from '../lib/pipelines/find.ts'
import type { PipelineRepository } from '../lib/repositories/repositories.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'
import { clientOf, eventStream } from './http/streams/sse.ts'

export interface EventDeps {
  readonly pipelines: Pick<PipelineRepository, 'find'>
  readonly events: EventHub
  readonly cameraWatch: CameraWatch
  readonly streams: Streams
}

/** These have a stream of their own. */
const FREQUENT: ReadonlySet<string> = new Set(['klv'])

/** The events of one pipeline, and of all pipelines and cameras. */
export const eventRoutes = ({ pipelines, events, cameraWatch, streams }: EventDeps) => [
  route({
    access: 'session',
    method: 'GET',
    path: '/svc/pipeline/:id/status/events',
    operation: 'followPipeline',
    summary: 'Server-Sent Events of a pipeline: pipeline_status (the current one first), pipeline_error, pipeline_not_found',
    description: 'Begins with the current status, or with the events since Last-Event-ID.',
    status: 200,
    errors: ['NOT_FOUND', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
    answer: eventsAnswer('Events of the pipeline; the stream ends after pipeline_not_found', PIPELINE_EVENTS),
    handle: async (exchange) => {
      const id = pipelineIdOf(exchange)
      await findRecord(pipelines, id)
      return eventStream({
        ...clientOf(exchange, streams),
        feed: events.feed,
        filter: ({ pipelineId, event }) => pipelineId === id && event.startsWith('pipeline_'),
        status: () => events.status(id),
        isLast: ({ event }) => event === 'pipeline_not_found',
      })
    },
  }),
  route({
    access: 'session',
    method: 'GET',
    path: '/svc/events',
    operation: 'followEverything',
    summary:
      'Server-Sent Events of all pipelines and cameras; the current status of each pipeline first, unless Last-Event-ID resumes the stream',
    description: 'KLV packets are not included: each pipeline has a stream of its own for them.',
    status: 200,
    errors: ['RATE_LIMITED'],
    answer: eventsAnswer('Events of all pipelines and cameras', { ...PIPELINE_EVENTS, ...CAMERA_EVENTS }),
    handle: (exchange) => {
      const client = clientOf(exchange, streams)
      // Without camera discovery, the events of pipelines are still sent.
      cameraWatch.begin().catch(() => {})
      return eventStream({
        ...client,
        feed: events.feed,
        filter: ({ event }) => !FREQUENT.has(event),
        status: events.feed.resumes(client.lastEventId) ? undefined : () => events.allStatuses(),
      })
    },
  }),
]

/** The event streams alone, for embedding. */
export const createEventHandlers = (deps: EventDeps & RouterDeps): FetchHandler => createRouter(eventRoutes(deps), deps).fetch
