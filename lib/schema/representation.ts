import * as v from 'valibot'
import {
  AUDIO_MODES,
  audioBitrateSchema,
  encodingSchema,
  geolocationSchema,
  klvConfigSchema,
  outputSchema,
  PHASES,
  PIPELINE_STATES,
  PUSH_STATES,
  pipelineIdSchema,
  RECORDING_STATES,
} from './pipeline.ts'
import { count, described, time } from './primitives.ts'

const rate = v.pipe(v.number(), v.minValue(0))

const lastErrorSchema = v.object({ code: described(v.string(), 'As in an error body'), message: v.string(), at: time })

const pushViewSchema = v.object({
  uri: described(v.string(), 'Address of the receiver; credentials are masked (***)'),
  state: described(
    v.picklist(PUSH_STATES),
    'idle: the pipeline does not play; sending: the receiver accepts the video; waiting: for the next attempt, after last_error',
  ),
  since: described(time, 'When the state began'),
  last_error: described(v.nullable(lastErrorSchema), 'Why it last did not connect or was disconnected; without credentials'),
  bytes: described(count, 'Bytes sent since the last play'),
})

const videoViewSchema = v.object({
  codec: described(v.string(), 'h264, h265, or the name of another codec'),
  width: described(v.nullable(count), 'Pixels; null when unknown'),
  height: described(v.nullable(count), 'Pixels; null when unknown'),
  fps: described(v.nullable(rate), 'Frames per second that the stream has; null when unknown'),
})

const audioViewSchema = v.object({
  codec: described(v.string(), 'aac, opus, pcmu, pcma, l16, mp2, mp3, or the name of another codec'),
  rate: described(v.nullable(count), 'Sampling rate, Hz; null when unknown'),
  channels: described(v.nullable(count), 'Number of channels; null when unknown'),
  carried: described(v.boolean(), 'Whether readers get it'),
  reason: described(v.nullable(v.string()), 'Why none, or not all, of the outputs carry it'),
})

export const runtimeSchema = described(
  v.object({
    phase: described(v.picklist(PHASES), 'Phase of the pipeline; reconnecting: its source is unavailable'),
    desired: described(v.picklist(PIPELINE_STATES), 'The state that was last requested'),
    since: described(time, 'When the phase began'),
    restarts: described(count, 'Restarts since the last play'),
    next_retry_at: described(v.nullable(time), 'Time of the next restart; null when none is due'),
    last_error: described(v.nullable(lastErrorSchema), 'Why the last run ended or did not start; without credentials'),
    readers: described(count, 'Readers now, over RTSP and of live video over HTTP'),
    frames: described(count, 'Frames since the last play'),
    fps: described(rate, 'Measured frame rate, frames per second'),
    bitrate_kbps: described(rate, 'Measured bitrate, kbit/s'),
    last_frame_age_ms: described(v.nullable(rate), 'Time since the last frame, milliseconds'),
    video: described(v.nullable(videoViewSchema), 'The video that is served; null before it is known'),
    audio: described(v.nullable(audioViewSchema), 'The sound that is served; null: the source has none, or audio is off'),
    push: described(v.array(pushViewSchema), 'The pushes, in the order of the configuration'),
  }),
  'Current state in the media engine',
)

const identityEntries = {
  id: pipelineIdSchema,
  on_demand: described(v.boolean(), 'Starts with its first reader or with play, not at creation or with the service'),
  state: described(v.picklist(PIPELINE_STATES), 'playing from the first media until the pipeline is stopped or fails'),
}

const statusEntries = {
  klv: v.object({
    available: described(v.boolean(), 'Whether the source carries KLV metadata'),
    state: v.optional(described(v.picklist(['playing', 'stopped']), 'Whether it is decoded; only when available')),
  }),
  klv_config: klvConfigSchema,
  audio: described(v.picklist(AUDIO_MODES), 'copy: the sound of the source as it is; aac, opus: encoded; off: none'),
  audio_bitrate: audioBitrateSchema,
  push: v.array(v.object({ uri: described(v.string(), 'Address of a receiver; credentials are masked (***)') })),
  geolocation: described(v.nullable(geolocationSchema), 'Position of the camera; null when unknown'),
  screenshots: v.object({
    state: described(v.picklist(['playing', 'stopped']), 'Whether periodic screenshots are taken'),
    interval_seconds: described(rate, 'Time between two screenshots, seconds'),
    quality: described(count, 'JPEG quality, 1 to 100'),
  }),
  recording: v.object({
    state: described(
      v.picklist(RECORDING_STATES),
      'recording: video is written; waiting: for the pipeline to play, or for its source; failed: nothing can be written, and it is tried again',
    ),
    since: described(v.nullable(time), 'When the state began; null when stopped'),
    last_error: described(v.nullable(lastErrorSchema), 'Why video was last not written, since the recording was started'),
  }),
  runtime: runtimeSchema,
  ephemeral: described(v.boolean(), 'Whether a trigger created the pipeline'),
  created_at: described(time, 'Creation'),
  updated_at: described(time, 'Last change of configuration or geolocation by a client'),
}

/** A simple pipeline as the API answers it. */
export const simpleRepresentationSchema = v.object({
  ...identityEntries,
  mode: v.literal('simple'),
  source: v.object({
    uri: described(v.string(), 'Stream address; credentials are masked (***)'),
    latency_ms: described(count, 'Buffer against jitter, milliseconds'),
  }),
  encoding: described(v.nullable(encodingSchema), 'null: the video is not re-encoded'),
  output: v.optional(described(outputSchema, 'Address of the RTSP output')),
  ...statusEntries,
})

/** An advanced pipeline as the API answers it. */
export const advancedRepresentationSchema = v.object({
  ...identityEntries,
  mode: v.literal('advanced'),
  raw_pipeline: described(v.string(), 'The description; credentials are masked (***)'),
  output: v.optional(described(outputSchema, 'Address of the RTSP output; absent when the description names no pay0')),
  ...statusEntries,
})

/** A pipeline as the API answers it. */
export const pipelineRepresentationSchema = v.variant('mode', [simpleRepresentationSchema, advancedRepresentationSchema])

/** What came in a test run. */
export const testReportSchema = v.object({
  start_ms: described(count, 'From the start to the first key frame, milliseconds'),
  video: described(v.nullable(videoViewSchema), 'null where there is no output for video'),
  audio: described(v.nullable(audioViewSchema), 'null where the source has no sound'),
  bitrate_kbps: described(v.number(), 'Of the first second'),
  klv: described(v.boolean(), 'Whether KLV metadata comes too'),
  picture: described(v.nullable(v.string()), 'A picture: JPEG, at most 480 pixels wide, as base64; null where none can be decoded'),
})

export type TestReport = Readonly<v.InferOutput<typeof testReportSchema>>

/** Answer of a dry run. */
export const validationSchema = v.object({
  valid: v.literal(true),
  launch: described(
    v.string(),
    'The gst-launch-1.0 line, credentials masked, ready to paste. RTSP sources are read by the engine, where the line has rtspsrc',
  ),
  unchanged: v.optional(
    described(v.boolean(), 'Whether this equals the stored pipeline, credentials included; absent when none has this id'),
  ),
})
