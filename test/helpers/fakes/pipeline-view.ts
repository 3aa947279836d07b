import type { PipelineView, Runtime } from '../../../lib/schema/pipeline.ts'

/** A pipeline as the engine shows it; idle, where `runtime` does not say otherwise. */
export const pipelineView = (id: string, runtime: Partial<Runtime> = {}): PipelineView => {
  const { phase = 'idle' } = runtime
  return {
    id,
    state: phase === 'playing' || phase === 'reconnecting' ? 'playing' : 'ready',
    klv: { available: false },
    screenshots: { state: 'stopped', interval_seconds: 10, quality: 85 },
    recording: { state: 'stopped', since: null, last_error: null },
    runtime: {
      phase,
      desired: 'ready',
      since: '2026-11-20T10:00:00.000Z',
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
      push: [],
      ...runtime,
    },
    revision: 0,
  }
}
