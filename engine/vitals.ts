import type { Runtime } from '../lib/schema/pipeline.ts'
import { Meter } from './meter.ts'

/** The media counters of a pipeline since its last play. Times are monotonic milliseconds. */
export class Vitals {
  readonly #meter = new Meter()
  #frames = 0
  #lastFrameAt: number | null = null

  record(bytes: number): void {
    const now = performance.now()
    this.#frames += 1
    this.#lastFrameAt = now
    this.#meter.record(now, bytes)
  }

  get lastFrameAt(): number | null {
    return this.#lastFrameAt
  }

  read(): Pick<Runtime, 'frames' | 'fps' | 'bitrate_kbps' | 'last_frame_age_ms'> {
    const now = performance.now()
    const { fps, kbps } = this.#meter.rates(now)
    return {
      frames: this.#frames,
      fps,
      bitrate_kbps: kbps,
      last_frame_age_ms: this.#lastFrameAt === null ? null : Math.round(now - this.#lastFrameAt),
    }
  }

  reset(): void {
    this.#meter.reset()
    this.#frames = 0
    this.#lastFrameAt = null
  }
}
