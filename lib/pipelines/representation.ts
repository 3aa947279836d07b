import { redact } from '../redact.ts'
import type { PipelineRecord } from '../repositories.ts'
import type { Encoding, PipelineConfig, PipelineView } from '../schema/pipeline.ts'

/** The one shape in which a pipeline leaves the API; credentials in its source are masked. */
export const represent = (record: PipelineRecord, view: PipelineView) => {
  const { config } = record
  return {
    id: config.id,
    mode: config.mode,
    on_demand: config.on_demand,
    state: view.state,
    ...media(config),
    klv: view.klv,
    klv_config: config.klv_config,
    geolocation: record.geolocation,
    screenshots: view.screenshots,
    runtime: view.runtime,
    ephemeral: config.ephemeral,
    created_at: new Date(record.created_at).toISOString(),
    updated_at: new Date(record.updated_at).toISOString(),
  }
}

export type PipelineRepresentation = ReturnType<typeof represent>

/** What depends on the configuration alone, made once for each: masking takes longer than all the rest. */
const shown = new WeakMap<PipelineConfig, ReturnType<typeof describeMedia>>()

const media = (config: PipelineConfig) => {
  const known = shown.get(config)
  if (known !== undefined) return known
  const described = describeMedia(config)
  shown.set(config, described)
  return described
}

const describeMedia = (config: PipelineConfig) => {
  const output = config.output === null ? {} : { output: config.output }
  if (config.mode === 'advanced') return { ...output, raw_pipeline: redact(config.raw_pipeline) }
  const source = { uri: redact(config.source.uri), latency_ms: config.source.latency_ms }
  return { source, encoding: config.encoding === null ? null : inOrder(config.encoding), ...output }
}

/** Optional fields stay absent: the source decides them. */
const inOrder = ({ codec, bitrate, width, height, fps, quality }: Encoding) => ({
  codec,
  bitrate,
  ...(width === undefined ? {} : { width, height }),
  ...(fps === undefined ? {} : { fps }),
  quality,
})

/** What is true of a pipeline that the engine does not hold: nothing runs. */
export const absentView = (record: PipelineRecord, defaults: { interval_seconds: number; quality: number }): PipelineView => ({
  id: record.config.id,
  state: 'ready',
  klv: { available: false },
  // Callers hand over settings, which have more fields than a pipeline shows.
  screenshots: { state: 'stopped', interval_seconds: defaults.interval_seconds, quality: defaults.quality },
  runtime: {
    phase: 'idle',
    desired: 'ready',
    since: new Date(record.updated_at).toISOString(),
    restarts: 0,
    next_retry_at: null,
    last_error: null,
    readers: 0,
    frames: 0,
    fps: 0,
    bitrate_kbps: 0,
    last_frame_age_ms: null,
  },
})
