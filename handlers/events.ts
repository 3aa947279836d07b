import type { EventHub } from '../lib/event-hub.ts'
import { getPipeline, type PipelineDeps } from '../lib/pipelines.ts'
import { pipelineIdSchema } from '../lib/schema/pipeline.ts'
import { validate } from '../lib/validate.ts'
import type { Exchange, FetchHandler, Route } from './http/route.ts'
import { createRouter, type RouterDeps } from './router.ts'
import { eventStream } from './sse.ts'

export interface EventDeps extends PipelineDeps {
  readonly events: EventHub
  /** Aborts when the service stops: streams end at once instead of holding it. */
  readonly stopping: AbortSignal
}

/** The events of one pipeline, and of everything. */
export const eventRoutes = (deps: EventDeps): readonly Route[] => [
  {
    access: 'session',
    method: 'GET',
    path: '/svc/pipeline/:id/status/events',
    operation: 'followPipeline',
    summary: 'Server-Sent Events of a pipeline: pipeline_status, pipeline_error, pipeline_not_found',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    handle: async (exchange) => {
      const id = validate(pipelineIdSchema, exchange.params.id, 'pipeline id')
      // Unknown: 404 and no stream.
      await getPipeline(deps, id)
      return eventStream({
        ...common(deps, exchange),
        filter: ({ pipelineId, event }) => pipelineId === id && event.startsWith('pipeline_'),
        greeting: async () => deps.events.statusNow(await getPipeline(deps, id)),
        isLast: ({ event }) => event === 'pipeline_not_found',
      })
    },
  },
  {
    access: 'session',
    method: 'GET',
    path: '/svc/events',
    operation: 'followEverything',
    summary: 'Server-Sent Events of all pipelines and cameras',
    status: 200,
    errors: [],
    handle: (exchange) => eventStream({ ...common(deps, exchange), filter: () => true }),
  },
]

const common = ({ events, stopping }: EventDeps, { request }: Exchange) => ({
  hub: events,
  lastEventId: request.headers.get('last-event-id'),
  signal: AbortSignal.any([request.signal, stopping]),
})

/** The event streams alone, for embedding. */
export const createEventHandlers = (deps: EventDeps & RouterDeps): FetchHandler => createRouter(eventRoutes(deps), deps)
