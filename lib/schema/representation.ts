import * as v from 'valibot'
import {
  encodingSchema,
  geolocationSchema,
  klvConfigSchema,
  outputSchema,
  PHASES,
  PIPELINE_STATES,
  PUSH_STATES,
  pipelineIdSchema,
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
  push: v.array(v.object({ uri: described(v.string(), 'Address of a receiver; credentials are masked (***)') })),
  geolocation: described(v.nullable(geolocationSchema), 'Position of the camera; null when unknown'),
  screenshots: v.object({
    state: described(v.picklist(['playing', 'stopped']), 'Whether periodic screenshots are taken'),
    interval_seconds: described(rate, 'Time between two screenshots, seconds'),
    quality: described(count, 'JPEG quality, 1 to 100'),
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
