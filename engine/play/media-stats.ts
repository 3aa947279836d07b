import type { Runtime } from '../../lib/schema/pipeline.ts'
import { RateMeter } from './rate-meter.ts'

const STANDSTILL = { fps: 0, kbps: 0 }

/** Frame count, rates and age of the last frame of one play. Times are monotonic milliseconds. */
export class MediaStats {
  readonly #rates = new RateMeter()
  #frames = 0
  #lastFrameAt: number | null = null

  get lastFrameAt(): number | null {
    return this.#lastFrameAt
  }

  /** Counts a frame (an access unit) that came now. */
  record(bytes: number): void {
    const now = performance.now()
    this.#frames += 1
    this.#lastFrameAt = now
    this.#rates.record(now, bytes)
  }

  /** What does not run has no rates, also right after its end. */
  read(running = true): Pick<Runtime, 'frames' | 'fps' | 'bitrate_kbps' | 'last_frame_age_ms'> {
    const now = performance.now()
    const { fps, kbps } = running ? this.#rates.rates(now) : STANDSTILL
    return {
      frames: this.#frames,
      fps,
      bitrate_kbps: kbps,
      last_frame_age_ms: this.#lastFrameAt === null ? null : Math.round(now - this.#lastFrameAt),
    }
  }
}
