import { maskDescription, maskUri } from '../credentials/mask.ts'
import { etagOf } from '../etag.ts'
import type { PipelineRecord } from '../repositories/repositories.ts'
import type { Encoding, PipelineConfig, PipelineView, PushTarget } from '../schema/pipeline.ts'
import { DEFAULT_SETTINGS } from '../schema/settings.ts'

const { interval_seconds, quality } = DEFAULT_SETTINGS.screenshots

/** A pipeline as the API answers it; credentials are masked. */
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
    audio: config.audio,
    audio_bitrate: config.audio_bitrate,
    push: maskedPush(config),
    geolocation: record.geolocation,
    screenshots: view.screenshots,
    recording: view.recording,
    runtime: view.runtime,
    ephemeral: config.ephemeral,
    created_at: new Date(record.created_at).toISOString(),
    updated_at: new Date(record.updated_at).toISOString(),
  }
}

export type PipelineRepresentation = ReturnType<typeof represent>

/**
 * The ETag of a pipeline: changes with its configuration and the geolocation of a request, not with one from KLV or with its state in the
 * engine. Credentials are masked in it, since a hash of them could be guessed; `updated_at` changes with them and with the geolocation.
 */
export const etagOfPipeline = ({
  state,
  klv,
  screenshots,
  recording,
  runtime,
  geolocation,
  ...configured
}: PipelineRepresentation): Promise<string> => etagOf(configured)

/** Fields that depend on the configuration alone, cached because masking is slow. */
const shown = new WeakMap<PipelineConfig, ReturnType<typeof describeMedia>>()

const media = (config: PipelineConfig) => {
  const known = shown.get(config)
  if (known !== undefined) return known
  const described = describeMedia(config)
  shown.set(config, described)
  return described
}

const pushes = new WeakMap<PipelineConfig, readonly PushTarget[]>()

const maskedPush = (config: PipelineConfig): readonly PushTarget[] => {
  const known = pushes.get(config) ?? config.push.map(({ uri }) => ({ uri: maskUri(uri) }))
  pushes.set(config, known)
  return known
}

const describeMedia = (config: PipelineConfig) => {
  const output = config.output === null ? {} : { output: config.output }
  if (config.mode === 'advanced') return { ...output, raw_pipeline: maskDescription(config.raw_pipeline) }
  const source = { uri: maskUri(config.source.uri), latency_ms: config.source.latency_ms }
  return { source, encoding: config.encoding === null ? null : inOrder(config.encoding), ...output }
}

/** Without optional fields that were not given: the source decides them. */
const inOrder = ({ codec, bitrate, width, height, fps, quality }: Encoding) => ({
  codec,
  bitrate,
  ...(width === undefined ? {} : { width, height }),
  ...(fps === undefined ? {} : { fps }),
  quality,
})

/** The view of a pipeline that the engine does not know: nothing runs. Its revision is older than any of the engine's. */
export const idleView = (record: PipelineRecord): PipelineView => ({
  id: record.config.id,
  state: 'ready',
  klv: { available: false },
  screenshots: { state: 'stopped', interval_seconds, quality },
  recording: record.recording
    ? { state: 'waiting', since: new Date(record.updated_at).toISOString(), last_error: null }
    : { state: 'stopped', since: null, last_error: null },
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
    video: null,
    audio: null,
    push: maskedPush(record.config).map(({ uri }) => ({
      uri,
      state: 'idle',
      since: new Date(record.updated_at).toISOString(),
      last_error: null,
      bytes: 0,
    })),
  },
  revision: 0,
})
