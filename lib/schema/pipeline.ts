import * as v from 'valibot'
import { MASK } from '../redact.ts'
import { parseOutputUri } from '../uri/output-address.ts'
import { carriesH265, pushUriSchema, sourceUriSchema } from '../uri/uri-schemas.ts'
import { described, integerBetween, numberBetween, oneOf } from './primitives.ts'

export const PIPELINE_MODES = ['simple', 'advanced'] as const
export const PIPELINE_STATES = ['ready', 'playing'] as const
export const PHASES = ['idle', 'starting', 'playing', 'reconnecting', 'stopping', 'failed'] as const
export const CODECS = ['h264', 'h265'] as const
/** What becomes of the sound of a source. */
export const AUDIO_MODES = ['copy', 'aac', 'opus', 'off'] as const
export const PUSH_STATES = ['idle', 'connecting', 'sending', 'waiting'] as const
export const RECORDING_STATES = ['recording', 'waiting', 'stopped', 'failed'] as const
/** Most pushes of one pipeline. */
const MAX_PUSHES = 8

const boolean = v.boolean('Use true or false')
const text = v.string('Use a string')

export const pipelineIdSchema = v.pipe(
  text,
  v.minLength(1, 'Use 1 to 64 characters'),
  v.maxLength(64, 'Use 1 to 64 characters'),
  v.regex(/^[a-zA-Z0-9_-]+$/, 'Use letters, digits, dash and underscore only'),
  v.description('Id of the pipeline: letters, digits, dash and underscore'),
)

export const sourceSchema = v.strictObject({
  uri: sourceUriSchema,
  latency_ms: v.optional(described(integerBetween(0, 60000), 'Buffer against jitter, milliseconds'), 200),
})

const BOTH_SIZES = 'Use width and height together, or neither'
const evenSize = v.pipe(integerBetween(16, 8192), v.multipleOf(2, 'Use an even number'))

export const encodingSchema = v.pipe(
  v.strictObject({
    codec: described(oneOf(CODECS), 'Codec of the output'),
    bitrate: v.optional(described(integerBetween(50, 200000), 'Bitrate, kbit/s'), 2000),
    width: v.optional(described(evenSize, "Width, pixels, even; only together with height, the source's when absent")),
    height: v.optional(described(evenSize, "Height, pixels, even; only together with width, the source's when absent")),
    fps: v.optional(described(numberBetween(1, 240), "Frames per second; the source's when absent")),
    quality: v.optional(described(integerBetween(1, 10), 'Encoder effort: 1 is the fastest preset, 10 the best quality'), 7),
  }),
  v.forward(
    v.check(({ width, height }) => height === undefined || width !== undefined, BOTH_SIZES),
    ['width'],
  ),
  v.forward(
    v.check(({ width, height }) => width === undefined || height !== undefined, BOTH_SIZES),
    ['height'],
  ),
  v.metadata({ dependentRequired: { width: ['height'], height: ['width'] } }),
)

export const outputSchema = v.strictObject({
  uri: v.pipe(
    text,
    v.maxLength(2048, 'Use at most 2048 characters'),
    v.check((uri) => parseOutputUri(uri) !== undefined, 'Use rtsp://0.0.0.0:<port>/<pipeline id> with a port of 1024 to 65535'),
    v.description('Address of the RTSP output: rtsp://0.0.0.0:<port>/<pipeline id>, or with an address of this host; port 1024 to 65535'),
  ),
})

/** The output of a request; an empty object is the same as none. */
const requestedOutputSchema = v.pipe(
  described(v.partial(outputSchema), 'Address of the RTSP output; a port of SVC_OUTPUT_PORTS when absent'),
  v.transform(({ uri }) => (uri === undefined ? undefined : { uri })),
)

export const pushTargetSchema = v.strictObject({ uri: pushUriSchema })

const pushSchema = v.pipe(
  v.array(pushTargetSchema, 'Use a list such as [{"uri":"srt://host:port"}]'),
  v.maxLength(MAX_PUSHES, `Use at most ${MAX_PUSHES} pushes`),
  v.check((targets) => {
    // Addresses that differ only in their credentials are equal when masked.
    const uris = targets.flatMap(({ uri }) => (uri.includes(MASK) ? [] : [uri]))
    return new Set(uris).size === uris.length
  }, 'Use each address once'),
  v.description('Receivers that the video is sent to while the pipeline plays'),
)

const audioSchema = described(
  oneOf(AUDIO_MODES),
  'copy: the sound of the source as it is; aac, opus: encoded; off: none. When absent, settings.audio_default, or that of the pipeline that is replaced',
)

export const audioBitrateSchema = described(
  v.nullable(integerBetween(16, 320)),
  'Bitrate of encoded sound, kbit/s; null: 128 for AAC, 64 for Opus',
)

export const klvConfigSchema = v.strictObject({
  pass_klv: v.optional(described(boolean, "Serve the source's KLV metadata together with the video"), false),
  auto_extract_geolocation: v.optional(described(boolean, 'Update geolocation from the KLV metadata'), false),
  synchronous: v.optional(
    described(
      boolean,
      'MPEG-TS carries the KLV metadata with the times of its frames (stream type 0x15), as it does when the source sends it so',
    ),
    false,
  ),
})

export const geolocationSchema = v.strictObject({
  latitude: described(numberBetween(-90, 90), 'Degrees north (WGS 84)'),
  longitude: described(numberBetween(-180, 180), 'Degrees east (WGS 84)'),
  altitude: v.optional(described(v.nullable(numberBetween(-1000, 100000)), 'Metres; null when unknown'), null),
  heading: v.optional(described(v.nullable(numberBetween(0, 360)), 'Degrees from north, clockwise; null when unknown'), null),
})

/** Read-only fields; ignored, so that a client can send back what it read. */
const ignored = v.optional(
  described(v.pipe(v.unknown(), v.metadata({ readOnly: true })), 'Ignored in requests, so that a pipeline can be sent back as it was read'),
)
const readOnlyEntries = {
  state: ignored,
  klv: ignored,
  screenshots: ignored,
  recording: ignored,
  runtime: ignored,
  ephemeral: ignored,
  created_at: ignored,
  updated_at: ignored,
}

/** Fields of an answer that are ignored in a request. */
export const READ_ONLY_FIELDS: ReadonlySet<string> = new Set(Object.keys(readOnlyEntries))

const commonEntries = {
  id: pipelineIdSchema,
  on_demand: v.optional(described(boolean, 'Starts with its first reader or with play, not at creation or with the service'), false),
  output: v.optional(requestedOutputSchema),
  klv_config: v.optional(klvConfigSchema, { pass_klv: false, auto_extract_geolocation: false, synchronous: false }),
  audio: v.optional(audioSchema),
  audio_bitrate: v.optional(audioBitrateSchema, null),
  push: v.optional(pushSchema, []),
  geolocation: v.optional(described(v.nullable(geolocationSchema), 'Position of the camera; null when unknown'), null),
}

const MODE = 'May be left out: source or raw_pipeline says it'

export const simplePipelineSchema = v.strictObject({
  ...readOnlyEntries,
  ...commonEntries,
  mode: v.optional(described(v.literal('simple'), MODE), 'simple'),
  source: sourceSchema,
  encoding: v.optional(described(v.nullable(encodingSchema), 'null passes the video through without re-encoding'), null),
})

export const advancedPipelineSchema = v.strictObject({
  ...readOnlyEntries,
  ...commonEntries,
  mode: v.optional(described(v.literal('advanced'), MODE), 'advanced'),
  raw_pipeline: v.pipe(
    text,
    v.minLength(1, 'Use 1 to 16384 characters'),
    v.maxLength(16384, 'Use 1 to 16384 characters'),
    v.check((description) => !description.includes('\u0000'), 'Remove the NUL character'),
    v.description('Pipeline description in the syntax of gst-launch-1.0; elements named pay0 and pay1 are served at output.uri'),
  ),
})

/** Body of create and replace. */
export const pipelineSchema = v.pipe(
  v.variant('mode', [simplePipelineSchema, advancedPipelineSchema], 'Use simple with a source, or advanced with a raw_pipeline'),
  v.forward(
    v.check(
      (pipeline) => pipeline.output === undefined || parseOutputUri(pipeline.output.uri)?.path === pipeline.id,
      'Use the pipeline id as the path of the output address',
    ),
    ['output', 'uri'],
  ),
  v.forward(
    v.check(
      (pipeline) => pipeline.mode !== 'simple' || pipeline.encoding?.codec !== 'h265' || pipeline.push.every(({ uri }) => carriesH265(uri)),
      'RTMP carries H.264 only: encode to h264, or push to srt://, udp:// or rtsp://',
    ),
    ['push'],
  ),
)

/** The id is in the path, so the body of replace may leave it out. */
export const simpleReplacementSchema = v.partial(simplePipelineSchema, ['id'])
export const advancedReplacementSchema = v.partial(advancedPipelineSchema, ['id'])

/** Body of replace, before the id of the path is added. */
export const pipelineReplacementSchema = v.variant('mode', [simpleReplacementSchema, advancedReplacementSchema])

/** Query of create and play. */
export const startQuerySchema = v.strictObject({
  start: v.optional(
    described(oneOf(['wait', 'background']), 'wait: answers when it plays, or fails. background: answers at once, and goes on trying'),
    'wait',
  ),
})

/** Most pipelines whose video one answer has. */
export const MAX_VIDEOS = 16

const idsSchema = v.pipe(v.array(pipelineIdSchema), v.maxLength(MAX_VIDEOS))

export const videosQuerySchema = v.strictObject({
  ids: v.pipe(
    v.string('Name the pipelines'),
    v.check(
      (text) => v.is(idsSchema, text.split(',')) && new Set(text.split(',')).size === text.split(',').length,
      `Use 1 to ${MAX_VIDEOS} different ids, separated by commas`,
    ),
    v.description(`Ids of 1 to ${MAX_VIDEOS} pipelines, separated by commas`),
  ),
})

/** Body of PATCH. */
export const pipelinePatchSchema = v.strictObject({
  geolocation: described(v.nullable(geolocationSchema), 'Position of the camera; null removes it'),
})

/** Query of the list. */
export const pipelineFilterSchema = v.strictObject({
  mode: v.optional(described(oneOf(PIPELINE_MODES), 'Only pipelines of this mode')),
  on_demand: v.optional(
    v.pipe(
      oneOf(['true', 'false']),
      v.metadata({ type: 'boolean', enum: undefined, description: 'Only on-demand pipelines (true) or only others (false)' }),
      v.transform((value) => value === 'true'),
    ),
  ),
  state: v.optional(described(oneOf(PIPELINE_STATES), 'Only pipelines in this state')),
})

export type Phase = (typeof PHASES)[number]
export type PipelineState = (typeof PIPELINE_STATES)[number]
export type Codec = (typeof CODECS)[number]
export type Source = v.InferOutput<typeof sourceSchema>
export type Encoding = v.InferOutput<typeof encodingSchema>
export type Geolocation = v.InferOutput<typeof geolocationSchema>
export type PushTarget = Readonly<v.InferOutput<typeof pushTargetSchema>>
export type PushState = (typeof PUSH_STATES)[number]
export type AudioMode = (typeof AUDIO_MODES)[number]
export type KlvConfig = v.InferOutput<typeof klvConfigSchema>

interface CommonConfig {
  readonly id: string
  readonly on_demand: boolean
  /** null: none was given (the engine assigns a port), or the description names no pay0. */
  readonly output: { readonly uri: string } | null
  readonly klv_config: KlvConfig
  readonly audio: AudioMode
  /** kbit/s; null: the usual one of the codec. */
  readonly audio_bitrate: number | null
  readonly push: readonly PushTarget[]
  readonly ephemeral: boolean
}

export interface SimpleConfig extends CommonConfig {
  readonly mode: 'simple'
  readonly source: Source
  readonly encoding: Encoding | null
}

export interface AdvancedConfig extends CommonConfig {
  readonly mode: 'advanced'
  readonly raw_pipeline: string
}

/** The configuration that the engine runs and the database stores. */
export type PipelineConfig = SimpleConfig | AdvancedConfig

/** A stored pipeline. Times are milliseconds since the epoch. */
export interface Pipeline {
  readonly config: PipelineConfig
  readonly geolocation: Geolocation | null
  readonly created_at: number
  readonly updated_at: number
}

/** Why the last run ended or did not start; without credentials. */
export interface LastError {
  readonly code: string
  readonly message: string
  readonly at: string
}

/** The current state of one push. */
export interface PushView {
  /** Credentials are masked. */
  readonly uri: string
  readonly state: PushState
  readonly since: string
  readonly last_error: LastError | null
  readonly bytes: number
}

/** The sound of a pipeline. */
export interface AudioView {
  /** aac, opus, pcmu, pcma, l16, mp2, mp3, or the name of another codec; of what is served. */
  readonly codec: string
  /** Hz; null when unknown. */
  readonly rate: number | null
  readonly channels: number | null
  /** Readers get it. */
  readonly carried: boolean
  /** Why none, or not all, of the outputs carry it. */
  readonly reason: string | null
}

/** The video of a pipeline. */
export interface VideoView {
  /** h264, h265, or the name of another codec. */
  readonly codec: string
  /** Pixels; null when unknown. */
  readonly width: number | null
  readonly height: number | null
  /** Frames per second that the stream has; null when unknown. */
  readonly fps: number | null
}

/** The current state in the engine: `runtime` of the representation. */
export interface Runtime {
  readonly phase: Phase
  readonly desired: PipelineState
  readonly since: string
  readonly restarts: number
  readonly next_retry_at: string | null
  readonly last_error: LastError | null
  readonly readers: number
  readonly frames: number
  readonly fps: number
  readonly bitrate_kbps: number
  readonly last_frame_age_ms: number | null
  readonly video: VideoView | null
  readonly audio: AudioView | null
  readonly push: readonly PushView[]
}

export interface KlvView {
  readonly available: boolean
  readonly state?: 'playing' | 'stopped' | undefined
}

export interface ScreenshotsView {
  readonly state: 'playing' | 'stopped'
  readonly interval_seconds: number
  readonly quality: number
}

export type RecordingState = (typeof RECORDING_STATES)[number]

export interface RecordingView {
  readonly state: RecordingState
  readonly since: string | null
  readonly last_error: LastError | null
}

/** The engine's part of a representation. */
export interface PipelineView {
  readonly id: string
  readonly state: PipelineState
  readonly runtime: Runtime
  readonly klv: KlvView
  readonly screenshots: ScreenshotsView
  readonly recording: RecordingView
  /** The engine's revision at the last change of the view; of one revision, only counters differ. */
  readonly revision: number
}

/** Phases without a run: counters do not change, and every other change has an event. */
export const isAtRest = ({ runtime: { phase } }: { readonly runtime: Pick<Runtime, 'phase'> }): boolean =>
  phase === 'idle' || phase === 'failed'
