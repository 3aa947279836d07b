import type { Upstreams } from '../lib/events/upstreams.ts'
import { PIPELINE_ANSWER } from '../lib/openapi/answers.ts'
import { KLV_FEATURE, KLV_PACKET } from '../lib/openapi/examples.ts'
import { eventsAnswer } from '../lib/openapi/operation.ts'
import { findRecord, type KlvDeps, readKlv, startKlv, stopKlv } from '../lib/pipelines/klv.ts'
import { pipelineNotFoundSchema } from '../lib/schema/event.ts'
import { klvFeatureSchema, klvPacketSchema, klvQuerySchema } from '../lib/schema/klv.ts'
import { pipelineIdSchema } from '../lib/schema/pipeline.ts'
import { validate } from '../lib/validate.ts'
import { clientOf, type EventDeps } from './events.ts'
import { readQuery } from './http/query.ts'
import { json } from './http/respond.ts'
import type { Exchange, FetchHandler, Route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'
import { eventStream } from './http/sse.ts'

export interface KlvRouteDeps extends KlvDeps, Pick<EventDeps, 'events'> {
  readonly klvUpstreams: Upstreams
}

const BASE = '/svc/pipeline/:id/klv'

/** KLV metadata of a pipeline: decoding, the last packet, every packet. */
export const klvRoutes = (deps: KlvRouteDeps): readonly Route[] => [
  {
    method: 'PUT',
    path: `${BASE}/start`,
    access: 'session',
    operation: 'startKlv',
    summary: 'Start to decode the KLV metadata of a playing pipeline',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT', 'SERVICE_UNAVAILABLE'],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => json(await startKlv(deps, idOf(exchange))),
  },
  {
    method: 'PUT',
    path: `${BASE}/stop`,
    access: 'session',
    operation: 'stopKlv',
    summary: 'Stop to decode KLV metadata; the last packet stays',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => json(await stopKlv(deps, idOf(exchange))),
  },
  {
    method: 'GET',
    path: BASE,
    access: 'session',
    operation: 'getKlv',
    summary: 'The last decoded KLV packet with its age; format=geojson answers a GeoJSON Feature',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    query: klvQuerySchema,
    answer: {
      description: 'The last packet',
      content: {
        'application/json': { schema: klvPacketSchema, examples: { packet: KLV_PACKET } },
        'application/geo+json': { schema: klvFeatureSchema, examples: { feature: KLV_FEATURE } },
      },
    },
    handle: async (exchange) => {
      const answer = await readKlv(deps, idOf(exchange), readQuery(exchange.url, ['format']))
      return 'feature' in answer ? json(answer.feature, 200, { 'content-type': 'application/geo+json' }) : json(answer.packet)
    },
  },
  {
    method: 'GET',
    path: `${BASE}/events`,
    access: 'session',
    operation: 'followKlv',
    summary: 'Server-Sent Events: klv for each packet while decoding runs, pipeline_not_found when the pipeline is deleted',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: eventsAnswer('Every packet of the pipeline; the stream ends after pipeline_not_found', {
      klv: klvPacketSchema,
      pipeline_not_found: pipelineNotFoundSchema,
    }),
    handle: async (exchange) => {
      const id = idOf(exchange)
      await findRecord(deps, id)
      return eventStream({
        ...clientOf(exchange),
        feed: followedFeed(deps, id),
        filter: ({ pipelineId, event }) => pipelineId === id && (event === 'klv' || event === 'pipeline_not_found'),
        isLast: ({ event }) => event === 'pipeline_not_found',
      })
    },
  },
]

/** The feed, which the engine sends the packets of a pipeline to exactly while this client is subscribed. */
const followedFeed = ({ events: { feed }, klvUpstreams }: KlvRouteDeps, id: string): Pick<typeof feed, 'subscribe' | 'missedSince'> => ({
  missedSince: feed.missedSince,
  subscribe: (follower) => {
    const unsubscribe = feed.subscribe(follower)
    const leave = klvUpstreams.subscribe(id)
    return () => {
      unsubscribe()
      leave()
    }
  },
})

/** The KLV operations alone, for embedding. */
export const createKlvHandlers = (deps: KlvRouteDeps & RouterDeps): FetchHandler => createRouter(klvRoutes(deps), deps)

const idOf = ({ params }: Exchange): string => validate(pipelineIdSchema, params.id, 'pipeline id')
