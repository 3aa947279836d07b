import * as v from 'valibot'
import {
  encodingSchema,
  geolocationSchema,
  klvConfigSchema,
  outputSchema,
  PHASES,
  PIPELINE_MODES,
  PIPELINE_STATES,
  pipelineIdSchema,
} from './pipeline.ts'
import { count, described, time } from './primitives.ts'

const rate = v.pipe(v.number(), v.minValue(0))

const lastErrorSchema = v.object({ code: v.string(), message: v.string(), at: time })

export const runtimeSchema = v.object({
  phase: described(v.picklist(PHASES), 'Phase of the pipeline; reconnecting: its source is unavailable'),
  desired: described(v.picklist(PIPELINE_STATES), 'The state that was last requested'),
  since: described(time, 'When the phase began'),
  restarts: described(count, 'Restarts since the last play'),
  next_retry_at: described(v.nullable(time), 'Time of the next restart; null when none is due'),
  last_error: described(v.nullable(lastErrorSchema), 'Why the last run ended or did not start; without credentials'),
  readers: described(count, 'RTSP readers connected now'),
  frames: described(count, 'Frames since the last play'),
  fps: described(rate, 'Measured frame rate, frames per second'),
  bitrate_kbps: described(rate, 'Measured bitrate, kbit/s'),
  last_frame_age_ms: described(v.nullable(rate), 'Time since the last frame, milliseconds'),
})

/** A pipeline as the API answers it. */
export const pipelineRepresentationSchema = v.object({
  id: pipelineIdSchema,
  mode: v.picklist(PIPELINE_MODES),
  on_demand: v.boolean(),
  state: described(v.picklist(PIPELINE_STATES), 'playing from the first media until the pipeline is stopped or fails'),
  source: v.optional(
    v.object({
      uri: described(v.string(), 'Stream address; credentials are masked (***)'),
      latency_ms: described(count, 'Buffer against jitter, milliseconds'),
    }),
  ),
  encoding: v.optional(described(v.nullable(encodingSchema), 'Simple mode; null: the video is not re-encoded')),
  raw_pipeline: v.optional(described(v.string(), 'Advanced mode: the description; credentials are masked (***)')),
  output: v.optional(described(outputSchema, 'Absent when an advanced pipeline names no pay0')),
  klv: v.object({
    available: described(v.boolean(), 'Whether the source carries KLV metadata'),
    state: v.optional(described(v.picklist(['playing', 'stopped']), 'Whether it is decoded; only when available')),
  }),
  klv_config: klvConfigSchema,
  geolocation: v.nullable(geolocationSchema),
  screenshots: v.object({
    state: described(v.picklist(['playing', 'stopped']), 'Whether periodic screenshots are taken'),
    interval_seconds: described(rate, 'Time between two screenshots, seconds'),
    quality: described(count, 'JPEG quality, 1 to 100'),
  }),
  runtime: described(runtimeSchema, 'Current state in the media engine'),
  ephemeral: described(v.boolean(), 'Whether a trigger created the pipeline'),
  created_at: time,
  updated_at: time,
})

/** Answer of a dry run. */
export const validationSchema = v.object({
  valid: v.literal(true),
  launch: described(v.string(), 'The gst-launch-1.0 line, credentials masked, ready to paste'),
})
