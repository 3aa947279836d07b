import * as v from 'valibot'
import {
  cameraAccessSchema,
  cameraCapabilitiesSchema,
  cameraQuerySchema,
  cameraSearchSchema,
  cameraStreamsSchema,
  networkCameraSchema,
} from '../schema/camera.ts'
import { licenseStateSchema } from '../schema/license.ts'
import { logLineSchema } from '../schema/log.ts'
import { pipelineIdSchema, pipelinePatchSchema } from '../schema/pipeline.ts'
import { offerQuerySchema, streamStartSchema, videoQuerySchema } from '../schema/primitives.ts'
import { deletedSchema, screenshotDeleteSchema, snapshotQuerySchema } from '../schema/screenshot.ts'
import { engineSettingsSchema, MAX_START_TIMEOUT_SECONDS } from '../schema/settings.ts'
import { recordingsDeletedSchema } from '../segments/queries.ts'
import type { AnyCall, Method } from './call.ts'
import * as message from './messages.ts'

/**
 * Grows with every change of the table below, or of a schema it names, that makes API and engine of different versions
 * misunderstand each other.
 */
export const ENGINE_PROTOCOL = 12

const QUICK_MS = 5000
const QUICK = { kind: 'json', patienceMs: QUICK_MS, outage: 'repeat' } as const
/** A description is parsed by a process of its own. */
const CHECK_MS = 30_000
/** A start may take as long as the settings allow at most, and ends its child. */
const PLAY_MS = (MAX_START_TIMEOUT_SECONDS + 30) * 1000
/** A child that ignores the signals is killed at the end. */
const STOP_MS = 30_000
/** The first call starts the monitor, and a camera may be slow. */
const CAMERA_MS = 15_000
/** A camera of the network has 20 s. */
const NETWORK_MS = 30_000
/** A picture waits for its turn to be decoded. */
const SNAPSHOT_MS = 30_000
const LIST_FILES_MS = 30_000
/** A file is read to its end, or many are deleted. */
const FILES_MS = 120_000
/** A file is read from a disk that may be busy. */
const FILE = { kind: 'file', patienceMs: LIST_FILES_MS, outage: 'repeat' } as const
const READ = { ...FILE, kind: 'json' } as const
/** A hash waits for its turn. */
const HASH_MS = 15_000
/** A scrape has 10 s by default, so an engine that does not answer is given up before. */
const METRICS_MS = 3000

/** Version 0.0.4 of the text format of Prometheus. */
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Records of kind, time, length and payload. */
export const VIDEO_CONTENT_TYPE = 'application/vnd.video-pipeline.units'
export const TS_CONTENT_TYPE = 'video/mp2t'
export const MP4_CONTENT_TYPE = 'video/mp4'
export const PLAYLIST_CONTENT_TYPE = 'application/vnd.apple.mpegurl'
export const PEM_CONTENT_TYPE = 'application/x-pem-file'

const KIBIBYTE = 1024
/** An offer of a browser has 10,000. */
export const MAX_SDP_CHARACTERS = 64 * KIBIBYTE

const flag = v.optional(v.boolean(), false)
const number = v.pipe(v.string(), v.regex(/^-?\d{1,16}$/, 'Use a whole number'), v.transform(Number))
const degrees = v.pipe(v.string(), v.maxLength(24), v.transform(Number), v.finite())
/** As `clientOf` of lib/access names it. */
const clientName = v.pipe(v.string(), v.maxLength(64))
const address = v.pipe(v.string(), v.maxLength(64))
const byteRange = v.pipe(v.string(), v.maxLength(256))
const moment = v.strictObject({ at: number })
const recordedRange = v.strictObject({ from: number, to: number, range: v.optional(byteRange) })
const password = v.pipe(v.string(), v.maxLength(1024))
const sdpText = v.pipe(v.string(), v.maxLength(MAX_SDP_CHARACTERS))
const passwordHash = v.pipe(v.string(), v.maxLength(512), v.startsWith('$argon2id$'))

/** An answer that says only that it is done. */
const done: message.SchemaOf<void> = v.pipe(
  v.null(),
  v.transform(() => undefined),
)

const { pipelineConfigSchema, pipelineViewSchema } = message

/**
 * Every call of the engine. Its HTTP server, its clients, their types and the fake engine of the tests follow from these rows.
 * Every call may fail with an ApiError; SERVICE_UNAVAILABLE when the engine cannot be reached.
 * `outage: 'repeat'` where an engine that has just started gives the same answer: what the first attempt changed has ended with the
 * engine. Not where the answer would differ: a picture or a decoder needs a pipeline that plays already, and a deleted file is not
 * there a second time.
 */
export const PROTOCOL = {
  /** Pipelines, their child processes and their outputs. */
  engine: {
    status: { method: 'GET', path: '/status', kind: 'json', answer: message.engineStatusSchema, patienceMs: QUICK_MS, outage: 'fail' },
    /** Sets the settings; effective at once where the setting says so. */
    configure: { method: 'PUT', path: '/settings', body: engineSettingsSchema, answer: done, ...QUICK },
    /** Parses a description without running it. VALIDATION_ERROR has the message of GStreamer. */
    check: {
      method: 'POST',
      path: '/check',
      body: pipelineConfigSchema,
      kind: 'json',
      answer: message.engineCheckSchema,
      patienceMs: CHECK_MS,
      outage: 'repeat',
    },
    list: { method: 'GET', path: '/pipelines', answer: message.pipelineListSchema, ...QUICK, shared: true },
    /** Those with a run: the views of all others change with events only. */
    listRunning: { method: 'GET', path: '/pipelines?running', answer: message.pipelineListSchema, ...QUICK, shared: true },
    view: { method: 'GET', path: '/pipelines/:id', answer: pipelineViewSchema, ...QUICK, shared: true },
    /**
     * Registers a pipeline (`create`: CONFLICT when the id is known) or replaces its configuration (CONFLICT while it runs).
     * Assigns a free output port when the configuration has none, and answers the configuration with it. `stored`: the
     * configuration was checked when it was stored, and has its output; what is wrong with it now fails its start.
     */
    put: {
      method: 'PUT',
      path: '/pipelines/:id',
      parametersIn: 'body',
      body: pipelineConfigSchema,
      query: v.strictObject({ create: flag, stored: v.optional(v.boolean()) }),
      kind: 'json',
      answer: pipelineConfigSchema,
      patienceMs: CHECK_MS,
      outage: 'repeat',
    },
    /** Removes a pipeline; CONFLICT while it runs unless `force`, NOT_FOUND when unknown. */
    remove: {
      method: 'DELETE',
      path: '/pipelines/:id',
      query: v.strictObject({ force: flag }),
      kind: 'json',
      answer: done,
      patienceMs: STOP_MS,
      outage: 'repeat',
    },
    /**
     * Answers after the first key frame, or fails with the fault. `wait: false` answers at once and retries in the background; `check`:
     * what no attempt can mend fails.
     */
    play: {
      method: 'POST',
      path: '/pipelines/:id/play',
      query: v.strictObject({ wait: flag, check: v.optional(v.boolean()) }),
      kind: 'json',
      answer: pipelineViewSchema,
      patienceMs: PLAY_MS,
      outage: 'repeat',
    },
    /** Answers when the child has been reaped and the port is free. */
    stop: { method: 'POST', path: '/pipelines/:id/stop', kind: 'json', answer: pipelineViewSchema, patienceMs: STOP_MS, outage: 'repeat' },
    log: { method: 'GET', path: '/pipelines/:id/log', answer: message.logSchema, ...QUICK },
    /** The newest lines of all logs that contain a text, oldest first. */
    logs: {
      method: 'GET',
      path: '/logs',
      query: v.strictObject({ search: v.optional(v.string()), stream: v.optional(logLineSchema.entries.stream), limit: number }),
      answer: message.foundLinesSchema,
      ...QUICK,
    },
    /** What was measured in the last hour, oldest first. */
    history: { method: 'GET', path: '/pipelines/:id/history', answer: message.rateHistorySchema, ...QUICK },
    /** Every change from now on. A heartbeat each second, so that an engine that hangs is replaced before its readers give up. */
    events: {
      method: 'GET',
      path: '/events',
      kind: 'lines',
      event: message.pipelineEventSchema,
      heartbeatMs: 1000,
      silenceMs: 5000,
      maxBacklog: 4096 * KIBIBYTE,
    },
  },

  license: {
    /** The license that starts by readers need; every other start is checked before it reaches the engine. */
    set: { method: 'PUT', path: '/license', body: licenseStateSchema, answer: done, ...QUICK },
  },

  /** Snapshots, periodic screenshots and their files. */
  screenshots: {
    /** Periodic screenshots from now on; CONFLICT with `details.reason` unless it plays. `resume`: it may come to play later. */
    start: {
      method: 'POST',
      path: '/pipelines/:id/screenshots/start',
      body: message.screenshotsRequestSchema,
      query: v.strictObject({ resume: flag }),
      kind: 'json',
      answer: pipelineViewSchema,
      patienceMs: QUICK_MS,
      outage: 'wait',
    },
    stop: { method: 'POST', path: '/pipelines/:id/screenshots/stop', answer: pipelineViewSchema, ...QUICK },
    /** Where the camera is, for the screenshots from now on. */
    locate: { method: 'PUT', path: '/pipelines/:id/geolocation', body: pipelinePatchSchema, answer: done, ...QUICK },
    /** The picture of now, at most a second old; CONFLICT with `details.reason` when there is none. */
    snapshot: {
      method: 'GET',
      path: '/pipelines/:id/snapshot',
      query: snapshotQuerySchema,
      kind: 'jpeg',
      patienceMs: SNAPSHOT_MS,
      outage: 'wait',
      shared: true,
    },
    /** The newest first; `before` in milliseconds since the epoch. */
    list: {
      method: 'GET',
      path: '/screenshots',
      query: v.strictObject({ pipeline_id: v.optional(pipelineIdSchema), before: v.optional(number), limit: number }),
      kind: 'json',
      answer: message.screenshotListSchema,
      patienceMs: LIST_FILES_MS,
      outage: 'repeat',
    },
    /** NOT_FOUND for a name that is not listed. */
    read: { method: 'GET', path: '/screenshots/:file', kind: 'jpeg', patienceMs: FILES_MS, outage: 'repeat' },
    remove: { method: 'DELETE', path: '/screenshots/:file', kind: 'json', answer: done, patienceMs: FILES_MS, outage: 'wait' },
    removeOf: {
      method: 'DELETE',
      path: '/screenshots',
      query: screenshotDeleteSchema,
      kind: 'json',
      answer: deletedSchema,
      patienceMs: FILES_MS,
      outage: 'wait',
    },
  },

  /** Times are milliseconds since the epoch. NOT_FOUND with `details.reason` no_recording where nothing is recorded. */
  recordings: {
    /** Records from now on, whenever the pipeline plays; CONFLICT with `details.reason` no_pay0. */
    start: { method: 'PUT', path: '/pipelines/:id/recording', answer: pipelineViewSchema, ...QUICK },
    /** Answers when what came before is on the disk. */
    stop: {
      method: 'DELETE',
      path: '/pipelines/:id/recording',
      kind: 'json',
      answer: pipelineViewSchema,
      patienceMs: STOP_MS,
      outage: 'repeat',
    },
    /** The newest first. */
    list: {
      method: 'GET',
      path: '/recordings',
      query: v.strictObject({
        pipeline_id: v.optional(pipelineIdSchema),
        from: number,
        to: number,
        before: number,
        limit: number,
        latitude: v.optional(degrees),
        longitude: v.optional(degrees),
      }),
      answer: message.recordedSpansSchema,
      ...QUICK,
    },
    /** Deletes whole segments of before a time. */
    removeBefore: {
      method: 'DELETE',
      path: '/recordings',
      query: v.strictObject({ pipeline_id: pipelineIdSchema, before: number }),
      kind: 'json',
      answer: recordingsDeletedSchema,
      patienceMs: FILES_MS,
      outage: 'wait',
    },
    /** The public key of the signatures. */
    key: { method: 'GET', path: '/recordings/key', kind: 'text', contentType: PEM_CONTENT_TYPE, patienceMs: QUICK_MS, outage: 'repeat' },
    /** A range as one MPEG-TS; `range`: that of the request. */
    range: { method: 'GET', path: '/pipelines/:id/recording.ts', query: recordedRange, contentType: TS_CONTENT_TYPE, ...FILE },
    /** A range as one MP4; CONFLICT with `details.reason` codec_change where codec or size change. */
    movie: { method: 'GET', path: '/pipelines/:id/recording.mp4', query: recordedRange, contentType: MP4_CONTENT_TYPE, ...FILE },
    /** A segment as it is stored. */
    file: {
      method: 'GET',
      path: '/pipelines/:id/recording/:file',
      query: v.strictObject({ range: v.optional(byteRange) }),
      contentType: TS_CONTENT_TYPE,
      ...FILE,
    },
    /** A range as an HLS playlist of its segments. */
    playlist: {
      method: 'GET',
      path: '/pipelines/:id/recording.m3u8',
      query: v.strictObject({ from: number, to: number }),
      kind: 'text',
      contentType: PLAYLIST_CONTENT_TYPE,
      patienceMs: LIST_FILES_MS,
      outage: 'repeat',
    },
    /** The picture of a moment. */
    picture: {
      method: 'GET',
      path: '/pipelines/:id/recording.jpg',
      query: moment,
      kind: 'jpeg',
      patienceMs: SNAPSHOT_MS,
      outage: 'repeat',
    },
    /** The KLV packet of a moment; NOT_FOUND also with `details.reason` no_klv. */
    klv: { method: 'GET', path: '/pipelines/:id/recording.klv', query: moment, answer: message.klvPacketSchema, ...READ },
    /** Its footprint; NOT_FOUND also with `details.reason` no_footprint. */
    footprint: { method: 'GET', path: '/pipelines/:id/recording.footprint', query: moment, answer: message.klvFootprintSchema, ...READ },
  },

  klv: {
    /** Decodes from now on; CONFLICT with `details.reason` not_playing or no_klv. */
    start: {
      method: 'POST',
      path: '/pipelines/:id/klv/start',
      kind: 'json',
      answer: pipelineViewSchema,
      patienceMs: QUICK_MS,
      outage: 'wait',
    },
    stop: { method: 'POST', path: '/pipelines/:id/klv/stop', answer: pipelineViewSchema, ...QUICK },
    latestFeature: { method: 'GET', path: '/pipelines/:id/klv?format=geojson', answer: message.klvFeatureSchema, ...QUICK },
    /** NOT_FOUND with `details.reason` no_footprint. */
    latestFootprint: { method: 'GET', path: '/pipelines/:id/klv?format=footprint', answer: message.klvFootprintSchema, ...QUICK },
    /** The last position as an event of Cursor on Target; NOT_FOUND before the first. `host`: of this service, as the client reaches it. */
    latestCot: {
      method: 'GET',
      path: '/pipelines/:id/cot',
      query: v.strictObject({ host: v.optional(v.pipe(v.string(), v.maxLength(255)), '0.0.0.0') }),
      kind: 'text',
      contentType: 'application/xml',
      patienceMs: QUICK_MS,
      outage: 'repeat',
    },
    /** The last packet with its age; NOT_FOUND before the first. */
    latest: { method: 'GET', path: '/pipelines/:id/klv', answer: message.klvPacketSchema, ...QUICK },
    /** Every packet decoded from now on. */
    events: {
      method: 'GET',
      path: '/pipelines/:id/klv/events',
      kind: 'lines',
      event: message.klvEventSchema,
      heartbeatMs: 5000,
      silenceMs: 15_000,
      maxBacklog: 1024 * KIBIBYTE,
    },
  },

  /** The video of a pipeline as bytes, for clients over HTTP. */
  live: {
    /**
     * Joins as an RTSP reader does: waits for a start on demand, counts as a reader. CONFLICT with `details.reason` not_playing,
     * no_pay0 or codec; SERVICE_UNAVAILABLE reader_limit.
     */
    video: {
      method: 'GET',
      path: '/pipelines/:id/video',
      query: videoQuerySchema,
      kind: 'stream',
      contentType: VIDEO_CONTENT_TYPE,
      patienceMs: PLAY_MS,
      outage: 'wait',
    },
    /** As `video`, with KLV when it is passed on. `start`: with the cached GOP, or with the next key frame. */
    ts: {
      method: 'GET',
      path: '/pipelines/:id/stream.ts',
      query: streamStartSchema,
      kind: 'stream',
      contentType: TS_CONTENT_TYPE,
      patienceMs: PLAY_MS,
      outage: 'wait',
    },
    /** The playlist of live HLS. A client is one reader, however often it asks, until 30 s after its last request. */
    playlist: {
      method: 'GET',
      path: '/pipelines/:id/live.m3u8',
      query: v.strictObject({ client: clientName }),
      kind: 'text',
      contentType: PLAYLIST_CONTENT_TYPE,
      patienceMs: PLAY_MS,
      outage: 'wait',
    },
    /** A segment of the playlist; NOT_FOUND with `details.reason` no_segment. */
    segment: {
      method: 'GET',
      path: '/pipelines/:id/live/:name',
      query: v.strictObject({ client: clientName, range: v.optional(byteRange) }),
      kind: 'file',
      contentType: TS_CONTENT_TYPE,
      patienceMs: PLAY_MS,
      outage: 'wait',
    },
    /**
     * Begins a session by WebRTC (WHEP), and joins as `video` does. VALIDATION_ERROR, NOT_ACCEPTABLE, NOT_IMPLEMENTED;
     * SERVICE_UNAVAILABLE session_limit or webrtc_port.
     */
    openSession: {
      method: 'POST',
      path: '/pipelines/:id/sessions',
      body: v.strictObject({ offer: sdpText, ...offerQuerySchema.entries, player_address: v.optional(address) }),
      kind: 'json',
      answer: v.object({ session: v.string(), etag: v.string(), answer: v.string() }),
      patienceMs: PLAY_MS,
      outage: 'wait',
    },
    /** Adds candidates. NOT_FOUND with `details.reason` no_session, PRECONDITION_REQUIRED, PRECONDITION_FAILED, UNPROCESSABLE_CONTENT. */
    addCandidates: {
      method: 'POST',
      path: '/pipelines/:id/sessions/:session/candidates',
      body: v.strictObject({
        fragment: sdpText,
        if_match: v.nullable(v.pipe(v.string(), v.maxLength(1024))),
        player_address: v.optional(address),
      }),
      kind: 'json',
      answer: done,
      patienceMs: QUICK_MS,
      outage: 'wait',
    },
    closeSession: {
      method: 'DELETE',
      path: '/pipelines/:id/sessions/:session',
      kind: 'json',
      answer: done,
      patienceMs: QUICK_MS,
      outage: 'wait',
    },
  },

  /** The cameras of the engine's host. SERVICE_UNAVAILABLE also when the host cannot list them. */
  cameras: {
    list: { method: 'GET', path: '/cameras', kind: 'json', answer: message.cameraListSchema, patienceMs: CAMERA_MS, outage: 'repeat' },
    /** What the camera at a device path can do; NOT_FOUND. */
    capabilities: {
      method: 'GET',
      path: '/camera',
      query: cameraQuerySchema,
      kind: 'json',
      answer: cameraCapabilitiesSchema,
      patienceMs: CAMERA_MS,
      outage: 'repeat',
    },
    /** The cameras that answer a search in the networks of the host. SERVICE_UNAVAILABLE with `details.reason` no_network. */
    search: {
      method: 'POST',
      path: '/cameras/search',
      body: cameraSearchSchema,
      kind: 'json',
      answer: v.array(networkCameraSchema),
      patienceMs: NETWORK_MS,
      outage: 'wait',
    },
    /** What a camera says of its streams. ENGINE_ERROR with the reason of a fault in `details`. */
    streams: {
      method: 'POST',
      path: '/cameras/streams',
      body: cameraAccessSchema,
      kind: 'json',
      answer: cameraStreamsSchema,
      patienceMs: NETWORK_MS,
      outage: 'wait',
    },
    /** What is attached, then each change from now on. */
    events: {
      method: 'GET',
      path: '/cameras/events',
      kind: 'lines',
      event: message.cameraReportSchema,
      heartbeatMs: 5000,
      silenceMs: 15_000,
      maxBacklog: 256 * KIBIBYTE,
    },
  },

  /** argon2id for API processes whose runtime has none; nothing is kept. */
  passwords: {
    hash: {
      method: 'POST',
      path: '/passwords/hash',
      body: v.strictObject({ password }),
      kind: 'json',
      answer: v.object({ hash: v.string() }),
      patienceMs: HASH_MS,
      outage: 'repeat',
    },
    verify: {
      method: 'POST',
      path: '/passwords/verify',
      body: v.strictObject({ password, hash: passwordHash }),
      kind: 'json',
      answer: v.object({ matches: v.boolean() }),
      patienceMs: HASH_MS,
      outage: 'repeat',
    },
  },

  metrics: {
    /** In the text format of Prometheus. */
    read: { method: 'GET', path: '/metrics', kind: 'text', contentType: METRICS_CONTENT_TYPE, patienceMs: METRICS_MS, outage: 'fail' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, AnyCall>>>>

export type Protocol = typeof PROTOCOL
export type PartName = keyof Protocol

/** The engine as its clients see it: a method for each row of the table. */
export type EngineClient = { -readonly [Part in PartName]: { -readonly [Name in keyof Protocol[Part]]: Method<Protocol[Part][Name]> } }

export type Engine = EngineClient['engine']
export type Screenshots = EngineClient['screenshots']
export type Recordings = EngineClient['recordings']
export type Klv = EngineClient['klv']
export type Live = EngineClient['live']
export type Cameras = EngineClient['cameras']
