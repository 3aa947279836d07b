import * as v from 'valibot'
import { MP4_CONTENT_TYPE, PEM_CONTENT_TYPE, PLAYLIST_CONTENT_TYPE, TS_CONTENT_TYPE } from '../lib/engine/protocol.ts'
import { PIPELINE_ANSWER } from '../lib/openapi/answers.ts'
import { KLV_FOOTPRINT, KLV_PACKET, RECORDED_SPAN } from '../lib/openapi/examples.ts'
import { bytesAnswer, jpegAnswer, jsonAnswer, knownPictureAnswer } from '../lib/openapi/operation.ts'
import { type RecordDeps, startRecording, stopRecording } from '../lib/recordings/record.ts'
import {
  deleteRecordings,
  listRecordings,
  readRecording,
  readRecordingAsMp4,
  recordedKlv,
  recordedPicture,
  recordingPlaylist,
} from '../lib/recordings/recorded.ts'
import { klvFootprintSchema, klvPacketSchema } from '../lib/schema/klv.ts'
import {
  momentQuerySchema,
  rangeQuerySchema,
  recordedKlvQuerySchema,
  recordedSpanSchema,
  recordingsDeletedSchema,
  recordingsDeleteSchema,
  recordingsQuerySchema,
} from '../lib/segments/queries.ts'
import { jpeg } from './http/jpeg.ts'
import { pipelineAnswer } from './http/pipeline-answer.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { readQuery } from './http/query.ts'
import { json } from './http/respond.ts'
import { type Exchange, type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'
import { file, text } from './http/streams/file-answer.ts'

const BASE = '/svc/pipeline/:id/recording'
const ALL = '/svc/recordings'
const RANGE = ['from', 'to'] as const
const READ_ERRORS = ['NOT_FOUND', 'SERVICE_UNAVAILABLE'] as const
const NO_RECORDING = 'Also of a pipeline that was deleted. 404 with details.reason no_recording where nothing is recorded.'

const recordRoutes = (deps: RecordDeps) => [
  route({
    method: 'PUT',
    path: `${BASE}/start`,
    access: 'session',
    operation: 'startRecording',
    summary: 'Record a pipeline whenever it plays',
    description:
      'Also after a restart of service or host. Without effect if it is recorded already. `recording` of the pipeline has the state.',
    status: 200,
    errors: ['NOT_FOUND', 'CONFLICT', 'SERVICE_UNAVAILABLE'],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => pipelineAnswer(await startRecording(deps, pipelineIdOf(exchange))),
  }),
  route({
    method: 'PUT',
    path: `${BASE}/stop`,
    access: 'session',
    operation: 'stopRecording',
    summary: 'Record a pipeline no more',
    description: 'What was recorded stays. Without effect if it is not recorded.',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: PIPELINE_ANSWER,
    handle: async (exchange) => pipelineAnswer(await stopRecording(deps, pipelineIdOf(exchange))),
  }),
]

const listRoutes = (deps: RecordDeps) => [
  route({
    method: 'GET',
    path: ALL,
    access: 'session',
    operation: 'listRecordings',
    summary: 'List what was recorded, newest first: spans without a gap, cut to the range',
    description:
      'A loss of the source ends a span. With covers only what the footprint of the camera held, to the second. The header field Link is the address of the next page.',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    query: recordingsQuerySchema,
    answer: jsonAnswer(
      'The spans, newest first',
      v.array(recordedSpanSchema),
      { one: [RECORDED_SPAN] },
      { link: 'The next page (RFC 8288), if there may be more spans' },
    ),
    handle: async ({ url }) => {
      const { spans, limit } = await listRecordings(deps, readQuery(url, Object.keys(recordingsQuerySchema.entries)))
      const last = spans.length < limit ? undefined : spans.at(-1)?.from
      return json(spans, 200, last === undefined ? {} : { link: nextPage(url, last) })
    },
  }),
  route({
    method: 'DELETE',
    path: ALL,
    access: 'session',
    operation: 'deleteRecordings',
    summary: 'Delete what a pipeline recorded before a time, whole files',
    description: 'Also after the pipeline itself was deleted.',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    query: recordingsDeleteSchema,
    answer: jsonAnswer('What was deleted', recordingsDeletedSchema, { some: { deleted: 900, bytes: 1_800_000_000 } }),
    handle: async ({ url }) => json(await deleteRecordings(deps, readQuery(url, ['pipeline_id', 'before']))),
  }),
  route({
    method: 'GET',
    path: `${ALL}/key`,
    access: 'public',
    operation: 'getRecordingsKey',
    summary: 'Read the public key (Ed25519) of the signatures in the chains',
    description: 'PEM, for `video-pipeline-service verify --key`.',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    answer: { description: 'The key', content: { [PEM_CONTENT_TYPE]: { schema: v.string() } } },
    handle: async () => text(await deps.recordings.key(), PEM_CONTENT_TYPE),
  }),
]

const transportRoute = (deps: RecordDeps) =>
  route({
    method: 'GET',
    path: `${BASE}.ts`,
    access: 'session',
    isMedia: true,
    operation: 'getRecording',
    summary: 'Download a range as MPEG-TS, with its sound and KLV',
    description: `From the last key frame at or before \`from\` to the frame at \`to\`, with continuous counters and times. Range requests work. ${NO_RECORDING}`,
    status: 200,
    errors: READ_ERRORS,
    query: rangeQuerySchema,
    answer: bytesAnswer('The range', TS_CONTENT_TYPE),
    otherAnswers: { 206: bytesAnswer('A part of the range', TS_CONTENT_TYPE) },
    handle: async (exchange) => {
      const { request, url } = exchange
      const part = { range: request.headers.get('range'), signal: request.signal }
      return file(await readRecording(deps, pipelineIdOf(exchange), readQuery(url, RANGE), part), TS_CONTENT_TYPE)
    },
  })

const movieRoute = (deps: RecordDeps) =>
  route({
    method: 'GET',
    path: `${BASE}.mp4`,
    access: 'session',
    isMedia: true,
    operation: 'getRecordingAsMp4',
    summary: 'Download a range as MP4, with its sound and without KLV',
    description: `As recording.ts, in fragments with an index. Range requests work. ${NO_RECORDING} 409 with details.reason codec_change where codec or size of the video change: details.at says when.`,
    status: 200,
    errors: [...READ_ERRORS, 'CONFLICT'],
    query: rangeQuerySchema,
    answer: bytesAnswer('The range', MP4_CONTENT_TYPE),
    otherAnswers: { 206: bytesAnswer('A part of the range', MP4_CONTENT_TYPE) },
    handle: async (exchange) => {
      const { request, url } = exchange
      const part = { range: request.headers.get('range'), signal: request.signal }
      return file(await readRecordingAsMp4(deps, pipelineIdOf(exchange), readQuery(url, RANGE), part), MP4_CONTENT_TYPE)
    },
  })

const segmentRoute = (deps: RecordDeps) =>
  route({
    method: 'GET',
    path: `${BASE}/:file`,
    access: 'session',
    isMedia: true,
    operation: 'getRecordingFile',
    summary: 'Download one file of a recording, as it is stored',
    description: `The playlist names the files. Range requests work. ${NO_RECORDING}`,
    status: 200,
    errors: READ_ERRORS,
    answer: bytesAnswer('The file', TS_CONTENT_TYPE),
    otherAnswers: { 206: bytesAnswer('A part of the file', TS_CONTENT_TYPE) },
    handle: async (exchange) => {
      const range = exchange.request.headers.get('range')
      const name = exchange.params.file ?? ''
      const found = await deps.recordings.file(pipelineIdOf(exchange), name, range === null ? {} : { range }, exchange.request.signal)
      return file(found, TS_CONTENT_TYPE)
    },
  })

const rangeRoutes = (deps: RecordDeps) => [transportRoute(deps), movieRoute(deps), segmentRoute(deps)]

const viewRoutes = (deps: RecordDeps) => [
  route({
    method: 'GET',
    path: `${BASE}.m3u8`,
    access: 'session',
    isMedia: true,
    operation: 'getRecordingPlaylist',
    summary: 'Play a range by HLS',
    description: `Its segments are the files, with EXT-X-DISCONTINUITY at gaps. ${NO_RECORDING}`,
    status: 200,
    errors: READ_ERRORS,
    query: rangeQuerySchema,
    answer: { description: 'The playlist', content: { [PLAYLIST_CONTENT_TYPE]: { schema: v.string() } } },
    handle: async (exchange) =>
      text(await recordingPlaylist(deps, pipelineIdOf(exchange), readQuery(exchange.url, RANGE)), PLAYLIST_CONTENT_TYPE),
  }),
  route({
    method: 'GET',
    path: `${BASE}.jpg`,
    access: 'session',
    isMedia: true,
    operation: 'getRecordedPicture',
    summary: 'See the picture of a moment',
    description: NO_RECORDING,
    status: 200,
    errors: [...READ_ERRORS, 'ENGINE_ERROR'],
    query: momentQuerySchema,
    answer: jpegAnswer('The picture of that moment'),
    otherAnswers: { 304: knownPictureAnswer() },
    handle: async (exchange) =>
      jpeg(exchange.request, await recordedPicture(deps, pipelineIdOf(exchange), readQuery(exchange.url, ['at']))),
  }),
  route({
    method: 'GET',
    path: `${BASE}.klv`,
    access: 'session',
    operation: 'getRecordedKlv',
    summary: 'Read the KLV packet of a recorded moment, as JSON or as the ground that the sensor saw',
    description: `The packet of the frame at that moment, else the last one before it; \`age_ms\` is its age at the moment. ${NO_RECORDING} 404 with details.reason no_klv where the recording has no KLV, no_footprint where the packet has none.`,
    status: 200,
    errors: READ_ERRORS,
    query: recordedKlvQuerySchema,
    answer: {
      description: 'The packet',
      content: {
        'application/json': { schema: klvPacketSchema, examples: { packet: KLV_PACKET } },
        'application/geo+json': { schema: klvFootprintSchema, examples: { footprint: KLV_FOOTPRINT } },
      },
    },
    handle: async (exchange) => {
      const answer = await recordedKlv(deps, pipelineIdOf(exchange), readQuery(exchange.url, ['at', 'format']))
      return answer.format === 'json' ? json(answer.packet) : json(answer.feature, 200, { 'content-type': 'application/geo+json' })
    },
  }),
]

/** What is recorded, and what was. */
export const recordingRoutes = (deps: RecordDeps) => [...recordRoutes(deps), ...listRoutes(deps), ...rangeRoutes(deps), ...viewRoutes(deps)]

/** RFC 8288. */
const nextPage = (url: Exchange['url'], before: string): string => {
  const query = new URLSearchParams(url.searchParams)
  query.set('before', before)
  return `<${ALL}?${query}>; rel="next"`
}

/** Recordings alone, for embedding. */
export const createRecordingHandlers = (deps: RecordDeps & RouterDeps): FetchHandler => createRouter(recordingRoutes(deps), deps).fetch
