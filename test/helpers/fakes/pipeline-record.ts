import type { PipelineRecord } from '../../../lib/repositories/repositories.ts'
import type { PipelineConfig } from '../../../lib/schema/pipeline.ts'

export const START = Date.parse('2026-11-20T10:00:00.000Z')

/** The stored configuration of a simple pipeline without encoding, where `more` does not say otherwise. */
export const pipelineConfig = (id: string, more: object = {}): PipelineConfig =>
  ({
    id,
    mode: 'simple',
    on_demand: false,
    source: { uri: 'rtsp://user:hunter2@10.0.0.5/stream', latency_ms: 200 },
    encoding: null,
    output: { uri: `rtsp://0.0.0.0:50100/${id}` },
    klv_config: { pass_klv: false, auto_extract_geolocation: false, synchronous: false },
    audio: 'off',
    audio_bitrate: null,
    push: [],
    ephemeral: false,
    ...more,
  }) as PipelineConfig

/** That pipeline as the database has it. */
export const pipelineRecord = (id: string, config: object = {}, more: Partial<PipelineRecord> = {}): PipelineRecord => ({
  config: pipelineConfig(id, config),
  geolocation: null,
  desired: 'playing',
  stopped: false,
  recording: false,
  trigger_path: null,
  created_at: START,
  updated_at: START,
  ...more,
})
