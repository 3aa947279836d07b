import type { Streams } from '../lib/access/streams.ts'
import { type Live, TS_CONTENT_TYPE, VIDEO_CONTENT_TYPE } from '../lib/engine/protocol.ts'
import { bytesAnswer } from '../lib/openapi/operation.ts'
import { openLive } from '../lib/pipelines/live.ts'
import type { PipelineRepository } from '../lib/repositories/repositories.ts'
import { streamStartSchema } from '../lib/schema/primitives.ts'
import { validate } from '../lib/validate.ts'
import { RECORD_KINDS } from '../lib/video-records.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { readQuery } from './http/query.ts'
import { type Exchange, type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'
import { relayStream } from './http/streams/relay.ts'

export interface LiveRouteDeps {
  readonly live: Live
  readonly pipelines: Pick<PipelineRepository, 'find'>
  readonly streams: Streams
}

// The layout is in lib/video-records.ts.
const RECORDS = `An endless sequence of records: kind (1 byte), time in µs (8 bytes), length (4 bytes), both unsigned big-endian, then the payload.

- Kind ${RECORD_KINDS.config}: JSON of a VideoDecoderConfig (WebCodecs): \`codec\`, \`codedWidth\`, \`codedHeight\`. There is no \`description\`: the stream is in Annex B.
- Kind ${RECORD_KINDS.key}: a key access unit, with its parameter sets. Kind ${RECORD_KINDS.delta}: any other access unit.
- Kind ${RECORD_KINDS.event}: JSON \`{ "type": "source_lost" | "source_back" }\`. \`source_lost\` is repeated every 30 s while the source is away.

Begins with kind ${RECORD_KINDS.config} and all access units since the last key frame; kind ${RECORD_KINDS.config} is repeated when it changes. The time of an access unit is its presentation time:
it continues when the source is lost or restarted, and is out of order only in streams with B-frames. A client that is too slow loses
whole GOPs; one that reads nothing for 10 s is disconnected. The stream ends when the pipeline is stopped.`

const TRANSPORT_STREAM = `Unchanged H.264 or H.265, and KLV (stream type 0x06, registration KLVA, MISB ST 1402) if \`klv_config.pass_klv\` is set and the source has it.
Begins with all access units since the last key frame, whose timestamps are compressed so that a player does not lag, or with \`start=key\` with the
next key frame and the times of the source, for files; continuity counters continue after a loss of the source. A client that is too slow loses whole GOPs; one that reads nothing for 10 s is disconnected. Ends when the pipeline is stopped.`

const JOINS = 'Starts an on-demand pipeline like an RTSP reader, and counts as a reader.'

const ERRORS = [
  'LICENSE_ERROR',
  'LICENSE_LIMIT_EXCEEDED',
  'NOT_FOUND',
  'CONFLICT',
  'RATE_LIMITED',
  'ENGINE_ERROR',
  'SERVICE_UNAVAILABLE',
  'PIPELINE_START_TIMEOUT',
] as const

/** Live video over HTTP. */
export const liveRoutes = (deps: LiveRouteDeps) => [
  route({
    method: 'GET',
    path: '/svc/pipeline/:id/video',
    access: 'session',
    isMedia: true,
    operation: 'getVideo',
    summary: 'Watch a pipeline live: its access units, for WebCodecs in a browser',
    description: `${RECORDS} ${JOINS}`,
    status: 200,
    errors: ERRORS,
    answer: bytesAnswer('The access units of the pipeline, H.264 or H.265', VIDEO_CONTENT_TYPE),
    handle: (exchange) => relay(deps, exchange, VIDEO_CONTENT_TYPE, (live, id, signal) => live.video(id, signal)),
  }),
  route({
    method: 'GET',
    path: '/svc/pipeline/:id/stream.ts',
    access: 'session',
    isMedia: true,
    operation: 'getTransportStream',
    summary: 'Watch a pipeline live: MPEG-TS with its KLV, for players and files',
    query: streamStartSchema,
    description: `${TRANSPORT_STREAM} ${JOINS}`,
    status: 200,
    errors: ERRORS,
    answer: bytesAnswer('MPEG-TS with H.264 or H.265, and KLV', TS_CONTENT_TYPE),
    handle: (exchange) => {
      const start = validate(streamStartSchema, readQuery(exchange.url, ['start']), 'query')
      return relay(deps, exchange, TS_CONTENT_TYPE, (live, id, signal) => live.ts(id, start, signal))
    },
  }),
]

type Open = (live: Live, id: string, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>

const relay = (deps: LiveRouteDeps, exchange: Exchange, contentType: string, open: Open): Promise<Response> => {
  const id = pipelineIdOf(exchange)
  return relayStream(exchange, { streams: deps.streams, contentType }, (signal) => openLive(deps, id, (live) => open(live, id, signal)))
}

/** Live video alone, for embedding. */
export const createLiveHandlers = (deps: LiveRouteDeps & RouterDeps): FetchHandler => createRouter(liveRoutes(deps), deps).fetch
