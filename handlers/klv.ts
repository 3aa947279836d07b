import * as v from 'valibot'
import type { Upstreams } from '../lib/events/upstreams.ts'
import { PIPELINE_ANSWER } from '../lib/openapi/answers.ts'
import { COT_EVENT, KLV_FEATURE, KLV_FOOTPRINT, KLV_PACKET } from '../lib/openapi/examples.ts'
import { eventsAnswer } from '../lib/openapi/operation.ts'
import { findRecord } from '../lib/pipelines/find.ts'
import { type KlvDeps, readKlv, startKlv, stopKlv } from '../lib/pipelines/klv.ts'
import { pipelineNotFoundSchema } from '../lib/schema/event.ts'
import { klvCotSchema, klvFeatureSchema, klvFootprintSchema, klvPacketSchema, klvQuerySchema } from '../lib/schema/klv.ts'
import type { EventDeps } from './events.ts'
import { pipelineAnswer } from './http/pipeline-answer.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { readQuery } from './http/query.ts'
import { json, xml } from './http/respond.ts'
import { type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'
import { clientOf, eventStream } from './http/streams/sse.ts'

export interface KlvRouteDeps extends KlvDeps, Pick<EventDeps, 'events' | 'streams'> {
  readonly klvUpstreams: Upstreams
}

const BASE = '/svc/pipeline/:id/klv'

const decodingRoutes = (deps: KlvRouteDeps) => [
  route({
    method: 'PUT',
    path: `${BASE}/start`,
    access: 'session',
    operation: 'startKlv',
    summary: 'Start decoding the KLV metadata of a playing pipeline',
    description: 'The source must have sent KLV before: see klv.available of the pipeline.',
    status: 200,
    errors: ['NOT_FOUND', 'CONFLICT', 'SERVICE_UNAVAILABLE'],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => pipelineAnswer(await startKlv(deps, pipelineIdOf(exchange))),
  }),
  route({
    method: 'PUT',
    path: `${BASE}/stop`,
    access: 'session',
    operation: 'stopKlv',
    summary: 'Stop decoding KLV metadata; the last packet is kept',
    description: 'Without effect if no KLV is being decoded.',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => pipelineAnswer(await stopKlv(deps, pipelineIdOf(exchange))),
  }),
]

const lastPacketRoute = (deps: KlvRouteDeps) =>
  route({
    method: 'GET',
    path: BASE,
    access: 'session',
    operation: 'getKlv',
    summary:
      'Read the last decoded KLV packet with its age, as JSON, as a GeoJSON Feature of position or footprint, or as Cursor on Target',
    description:
      'stale is true for a packet that is older than 5 s. footprint: the ground that the sensor sees, from the corners of the picture (tags 82 to 89), else from their offsets (26 to 33 with 23 and 24), else computed from position, altitude, attitude and field of view over flat ground at the elevation of the target (42, else 25, else 0). cot: the last position as an event of Cursor on Target, stale 10 s after its time. 404 before the first packet; with details.reason no_position if no packet had one; no_footprint if the packet has none or the picture reaches above the horizon.',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    query: klvQuerySchema,
    answer: {
      description: 'The last packet',
      content: {
        'application/json': { schema: klvPacketSchema, examples: { packet: KLV_PACKET } },
        'application/geo+json': {
          schema: v.union([klvFeatureSchema, klvFootprintSchema]),
          examples: { feature: KLV_FEATURE, footprint: KLV_FOOTPRINT },
        },
        'application/xml': { schema: klvCotSchema, examples: { event: COT_EVENT } },
      },
    },
    handle: async (exchange) => {
      const answer = await readKlv(deps, pipelineIdOf(exchange), readQuery(exchange.url, ['format']), exchange.url.hostname)
      if (answer.format === 'cot') return xml(answer.event)
      return answer.format === 'geojson' || answer.format === 'footprint'
        ? json(answer.feature, 200, { 'content-type': 'application/geo+json' })
        : json(answer.packet)
    },
  })

const packetEventsRoute = (deps: KlvRouteDeps) =>
  route({
    method: 'GET',
    path: `${BASE}/events`,
    access: 'session',
    operation: 'followKlv',
    summary: 'Server-Sent Events: klv for each decoded packet, pipeline_not_found when the pipeline is deleted',
    description: 'Sends nothing until packets are decoded: by klv/start, or by auto_extract_geolocation of the pipeline.',
    status: 200,
    errors: ['NOT_FOUND', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
    answer: eventsAnswer('The decoded packets of the pipeline; the stream ends after pipeline_not_found', {
      klv: klvPacketSchema,
      pipeline_not_found: pipelineNotFoundSchema,
    }),
    handle: async (exchange) => {
      const id = pipelineIdOf(exchange)
      await findRecord(deps.pipelines, id)
      return eventStream({
        ...clientOf(exchange, deps.streams),
        feed: followedFeed(deps, id),
        filter: ({ pipelineId, event }) => pipelineId === id && (event === 'klv' || event === 'pipeline_not_found'),
        isLast: ({ event }) => event === 'pipeline_not_found',
      })
    },
  })

const packetRoutes = (deps: KlvRouteDeps) => [lastPacketRoute(deps), packetEventsRoute(deps)]

/** KLV metadata of a pipeline: start and stop decoding, the last packet, the stream of packets. */
export const klvRoutes = (deps: KlvRouteDeps) => [...decodingRoutes(deps), ...packetRoutes(deps)]

/** The feed. While a client is subscribed, the engine sends the packets of the pipeline. */
const followedFeed = ({ events: { feed }, klvUpstreams }: KlvRouteDeps, id: string): Pick<typeof feed, 'subscribe' | 'missedSince'> => ({
  missedSince: feed.missedSince,
  subscribe: (subscriber) => {
    const unsubscribe = feed.subscribe(subscriber)
    const leave = klvUpstreams.subscribe(id)
    return () => {
      unsubscribe()
      leave()
    }
  },
})

/** The KLV operations alone, for embedding. */
export const createKlvHandlers = (deps: KlvRouteDeps & RouterDeps): FetchHandler => createRouter(klvRoutes(deps), deps).fetch
