import type { PipelineView, Runtime } from '../../lib/schema/pipeline.ts'
import { RateMeter } from './rate-meter.ts'

/** Media of one pipeline since it was registered. */
export interface MediaTotals {
  readonly frames: number
  readonly bytesIn: number
  readonly malformedPackets: number
  readonly bytesOut: number
  /** How often a reader that was behind lost what waited for it. */
  readonly gopDrops: number
  /** The worst loss that a UDP reader reported last, 0 to 1. */
  readonly worstLoss: number
}

export interface PipelineFacts {
  readonly view: PipelineView
  /** The child of the present run. */
  readonly pid: number | undefined
  readonly media: MediaTotals
}

/** The media counters of a pipeline since its last play. Times are monotonic milliseconds. */
export class MediaStats {
  readonly #meter = new RateMeter()
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
