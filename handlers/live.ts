import * as v from 'valibot'
import { clientOf, plainAddress } from '../lib/access/client-of.ts'
import type { Streams } from '../lib/access/streams.ts'
import { type Live, MAX_SDP_CHARACTERS, PLAYLIST_CONTENT_TYPE, TS_CONTENT_TYPE, VIDEO_CONTENT_TYPE } from '../lib/engine/protocol.ts'
import { bytesAnswer, emptyAnswer } from '../lib/openapi/operation.ts'
import { findRecord, unknownIsNotPlaying } from '../lib/pipelines/find.ts'
import { openLive } from '../lib/pipelines/live.ts'
import type { PipelineRepository } from '../lib/repositories/repositories.ts'
import { MAX_VIDEOS, videosQuerySchema } from '../lib/schema/pipeline.ts'
import { offerQuerySchema, streamStartSchema, videoQuerySchema } from '../lib/schema/primitives.ts'
import { validate } from '../lib/validate.ts'
import { RECORD_KINDS } from '../lib/video-records.ts'
import { readTyped } from './http/body.ts'
import { ifMatchOf } from './http/conditional-request.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { readQuery } from './http/query.ts'
import { noContent } from './http/respond.ts'
import { type Exchange, type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'
import { file, text } from './http/streams/file-answer.ts'
import { mergeStreams } from './http/streams/merge.ts'
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

With \`audio=1\` also:

- Kind ${RECORD_KINDS.soundConfig}: JSON of an AudioDecoderConfig (WebCodecs): \`codec\`, \`sampleRate\`, \`numberOfChannels\`. There is no \`description\`: AAC is in ADTS.
- Kind ${RECORD_KINDS.sound}: an encoded frame of the sound; its time is on the clock of the pictures.

With \`klv=1\` also:

- Kind ${RECORD_KINDS.klv}: a KLV packet of the source, also without \`klv_config.pass_klv\`. Its time is that of its frame, whose record comes next, unless the packet came more than 100 ms after the frame.
  Frames wait for KLV that comes after them, 100 ms at most.

Begins with kind ${RECORD_KINDS.config} and all access units since the last key frame; kind ${RECORD_KINDS.config} is repeated when it changes. The time of an access unit is its presentation time:
it continues when the source is lost or restarted, and is out of order only in streams with B-frames. A client that is too slow loses
whole GOPs; one that reads nothing for 10 s is disconnected. The stream ends when the pipeline is stopped.`

const TRANSPORT_STREAM = `Unchanged H.264 or H.265, and KLV (MISB ST 1402) if \`klv_config.pass_klv\` is set and the source has it: stream type 0x06 with the registration KLVA,
or 0x15 with the times of its frames if \`klv_config.synchronous\` is set or the source sends it so.
Begins with all access units since the last key frame, whose timestamps are compressed so that a player does not lag, or with \`start=key\` with the
next key frame and the times of the source, for files; continuity counters continue after a loss of the source. A client that is too slow loses whole GOPs; one that reads nothing for 10 s is disconnected. Ends when the pipeline is stopped.`

const JOINS = 'Starts an on-demand pipeline like an RTSP reader, and counts as a reader.'

const JOIN_ERRORS = [
  'LICENSE_ERROR',
  'LICENSE_LIMIT_EXCEEDED',
  'NOT_FOUND',
  'CONFLICT',
  'ENGINE_ERROR',
  'SERVICE_UNAVAILABLE',
  'PIPELINE_START_TIMEOUT',
] as const
const ERRORS = [...JOIN_ERRORS, 'RATE_LIMITED'] as const

const HLS = `The last 6 segments, MPEG-TS as that of stream.ts: they are cut in memory while somebody asks, and for 30 s after. The first answer waits for the
first segment. All requests of a client address are one reader, until 30 s after the last. When the pipeline stops the playlist ends
(EXT-X-ENDLIST), for 30 s to those who read it.`

const hlsRoutes = (deps: LiveRouteDeps) => [
  route({
    method: 'GET',
    path: '/svc/pipeline/:id/live.m3u8',
    access: 'session',
    isMedia: true,
    operation: 'getLivePlaylist',
    summary: 'Watch a pipeline live by HLS',
    description: `${HLS} Starts an on-demand pipeline like an RTSP reader.`,
    status: 200,
    errors: ERRORS,
    answer: { description: 'The playlist', content: { [PLAYLIST_CONTENT_TYPE]: { schema: v.string() } } },
    handle: async (exchange) => {
      const id = pipelineIdOf(exchange)
      const client = clientOf(exchange.context.clientAddress)
      return text(await openLive(deps, id, (live) => live.playlist(id, { client })), PLAYLIST_CONTENT_TYPE)
    },
  }),
  route({
    method: 'GET',
    path: '/svc/pipeline/:id/live/:segment',
    access: 'session',
    isMedia: true,
    operation: 'getLiveSegment',
    summary: 'Read one segment of live.m3u8',
    description:
      'The playlist names the segments. Range requests work. 404 with details.reason no_segment for one that is no longer there.',
    status: 200,
    errors: ERRORS,
    answer: bytesAnswer('The segment', TS_CONTENT_TYPE),
    otherAnswers: { 206: bytesAnswer('A part of the segment', TS_CONTENT_TYPE) },
    handle: async (exchange) => {
      const { request, context, params } = exchange
      const id = pipelineIdOf(exchange)
      const range = request.headers.get('range')
      const query = { client: clientOf(context.clientAddress), ...(range !== null && { range }) }
      const name = params.segment ?? ''
      const found = await openLive(deps, id, (live) => live.segment(id, name, query, request.signal))
      return file(found, TS_CONTENT_TYPE)
    },
  }),
]

/** Live video over HTTP and by WebRTC. */
export const liveRoutes = (deps: LiveRouteDeps) => [
  ...hlsRoutes(deps),
  severalRoute(deps),
  beginRoute(deps),
  candidatesRoute(deps),
  endRoute(deps),
  route({
    method: 'GET',
    path: '/svc/pipeline/:id/video',
    access: 'session',
    isMedia: true,
    operation: 'getVideo',
    summary: 'Watch a pipeline live: its access units, for WebCodecs in a browser',
    query: videoQuerySchema,
    description: `${RECORDS} ${JOINS}`,
    status: 200,
    errors: ERRORS,
    answer: bytesAnswer('The access units of the pipeline, H.264 or H.265', VIDEO_CONTENT_TYPE),
    handle: (exchange) => {
      const query = validate(videoQuerySchema, readQuery(exchange.url, ['audio', 'klv']), 'query')
      return relay(deps, exchange, VIDEO_CONTENT_TYPE, (live, id, signal) => live.video(id, query, signal))
    },
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

const WHEP = '/svc/pipeline/:id/whep'
const SDP = 'application/sdp'
const FRAGMENT = 'application/trickle-ice-sdpfrag'

const OFFER = 'v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 102\r\n…'
const CANDIDATES =
  'a=ice-ufrag:EsAw\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\nm=video 9 UDP/TLS/RTP/SAVPF 102\r\na=mid:0\r\na=candidate:…\r\n'

const SESSION = `H.264 and H.265 as they are, where the offer has the codec. It begins with the last key frame, and lost packets are sent again.
${JOINS}

The answer has every candidate of this host: one UDP port (SVC_WEBRTC_PORT) at its addresses, or at SVC_WEBRTC_HOSTS. A session that is not connected within 10 s is gone.`

/** WebRTC by WHEP (draft-ietf-wish-whep), which follows RFC 9725. */
const beginRoute = (deps: LiveRouteDeps) =>
  route({
    method: 'POST',
    path: WHEP,
    access: 'session',
    isMedia: true,
    operation: 'beginSession',
    summary: 'Watch a pipeline live by WebRTC (WHEP): send the offer of a player',
    query: offerQuerySchema,
    description: SESSION,
    status: 201,
    errors: [...JOIN_ERRORS, 'NOT_ACCEPTABLE', 'PAYLOAD_TOO_LARGE', 'NOT_IMPLEMENTED'],
    body: { schema: v.string(), mediaType: SDP, examples: { offer: OFFER } },
    answer: {
      description: 'The answer',
      content: { [SDP]: { schema: v.string() } },
      headers: { location: 'The session: DELETE ends it, PATCH adds candidates', etag: 'Of the session, for the If-Match of PATCH' },
    },
    handle: async (exchange) => {
      const id = pipelineIdOf(exchange)
      const { wait } = validate(offerQuerySchema, readQuery(exchange.url, ['wait']), 'query')
      const offer = await readTyped(exchange.request, SDP, MAX_SDP_CHARACTERS)
      await findRecord(deps.pipelines, id)
      const { session, etag, answer } = await deps.live
        .openSession(id, { offer, wait, ...playerOf(exchange) })
        .catch(unknownIsNotPlaying(id))
      return new Response(answer, { status: 201, headers: { ...SESSION_HEADERS, location: locationOf(id, session), etag } })
    },
  })

const candidatesRoute = (deps: LiveRouteDeps) =>
  route({
    method: 'PATCH',
    path: `${WHEP}/:session`,
    access: 'session',
    operation: 'addCandidates',
    summary: 'Add candidates of a player to its session by WebRTC',
    description:
      'A fragment of SDP (RFC 8840). ICE is not restarted: 422. The ETag of the session, or *, has to be in If-Match: 428 without it.',
    status: 204,
    errors: [
      'NOT_FOUND',
      'PRECONDITION_FAILED',
      'PAYLOAD_TOO_LARGE',
      'UNPROCESSABLE_CONTENT',
      'PRECONDITION_REQUIRED',
      'SERVICE_UNAVAILABLE',
    ],
    body: { schema: v.string(), mediaType: FRAGMENT, examples: { candidates: CANDIDATES } },
    answer: emptyAnswer('The candidates are used'),
    handle: async (exchange) => {
      const fragment = await readTyped(exchange.request, FRAGMENT, MAX_SDP_CHARACTERS)
      const body = { fragment, if_match: ifMatchOf(exchange.request), ...playerOf(exchange) }
      await deps.live.addCandidates(pipelineIdOf(exchange), sessionOf(exchange), body)
      return noContent()
    },
  })

const endRoute = (deps: LiveRouteDeps) =>
  route({
    method: 'DELETE',
    path: `${WHEP}/:session`,
    access: 'session',
    operation: 'endSession',
    summary: 'End a session by WebRTC',
    description: 'Its player leaves the pipeline. One that is silent for 30 s is ended without this.',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: emptyAnswer('The session has ended'),
    handle: async (exchange) => {
      await deps.live.closeSession(pipelineIdOf(exchange), sessionOf(exchange))
      return new Response(null, { headers: { 'cache-control': 'no-store' } })
    },
  })

const SESSION_HEADERS = { 'content-type': SDP, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

const locationOf = (id: string, session: string): string => `/svc/pipeline/${encodeURIComponent(id)}/whep/${session}`

/** Browsers hide their addresses in candidates behind names; they have the address from which their offer comes. */
const playerOf = ({ context: { clientAddress } }: Exchange): { readonly player_address?: string } =>
  clientAddress === undefined ? {} : { player_address: plainAddress(clientAddress) }

const sessionOf = ({ params }: Exchange): string => params.session ?? ''

const SEVERAL = `The video of up to ${MAX_VIDEOS} pipelines in one answer, since a browser has few connections. Records as those of one pipeline,
whose payload begins with one byte: the index of the pipeline in \`ids\`.

- Kind ${RECORD_KINDS.part}: the next bytes of that pipeline's own records, cut anywhere: put them together again, pipeline by pipeline.
- Kind ${RECORD_KINDS.ended}: JSON \`{ "error": null | { "message", "code", "details" } }\`: its video has ended, or did not begin for this reason.

The answer begins at once, and ends when all have ended. Each pipeline is started and counts as a reader as for its own video.`

/** The video of several pipelines. */
const severalRoute = (deps: LiveRouteDeps) =>
  route({
    method: 'GET',
    path: '/svc/video',
    access: 'session',
    isMedia: true,
    operation: 'getVideos',
    summary: 'Watch several pipelines live over one connection',
    query: videosQuerySchema,
    description: SEVERAL,
    status: 200,
    errors: ['RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
    answer: bytesAnswer('The records of all pipelines', VIDEO_CONTENT_TYPE),
    handle: async (exchange) => {
      const { ids } = validate(videosQuerySchema, readQuery(exchange.url, ['ids']), 'query')
      const opens = ids
        .split(',')
        .map((id) => (signal: AbortSignal) => openLive(deps, id, (live) => live.video(id, { audio: '0', klv: '0' }, signal)))
      return relayStream(exchange, { streams: deps.streams, contentType: VIDEO_CONTENT_TYPE }, async (signal) =>
        mergeStreams(opens, signal),
      )
    },
  })

type Open = (live: Live, id: string, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>

const relay = (deps: LiveRouteDeps, exchange: Exchange, contentType: string, open: Open): Promise<Response> => {
  const id = pipelineIdOf(exchange)
  return relayStream(exchange, { streams: deps.streams, contentType }, (signal) => openLive(deps, id, (live) => open(live, id, signal)))
}

/** Live video alone, for embedding. */
export const createLiveHandlers = (deps: LiveRouteDeps & RouterDeps): FetchHandler => createRouter(liveRoutes(deps), deps).fetch
