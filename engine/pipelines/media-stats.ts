import type { PipelineView, Runtime } from '../../lib/schema/pipeline.ts'
import type { PushFacts } from '../push/push.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { RateMeter } from './rate-meter.ts'

/** Media of one pipeline since it was registered. */
interface MediaTotals {
  readonly frames: number
  readonly bytesIn: number
  readonly malformedPackets: number
  /** How often packets of the source were missing. */
  readonly gaps: number
  readonly bytesOut: number
  /** How often a reader that was behind lost its backlog. */
  readonly gopDrops: number
  /** The worst loss that a UDP reader reported last, 0 to 1. */
  readonly worstLoss: number
}

/** `sent`: what the output counted. */
export const mediaTotals = (
  streams: readonly [RtpStream, RtpStream],
  sent: Pick<MediaTotals, 'bytesOut' | 'gopDrops' | 'worstLoss'>,
): MediaTotals => {
  const [video, klv] = [streams[0].stats, streams[1].stats]
  return {
    frames: video.units,
    bytesIn: video.bytes + klv.bytes,
    malformedPackets: video.malformedPackets + klv.malformedPackets,
    gaps: video.gaps,
    ...sent,
  }
}

/** What the metrics of one pipeline are made of. */
export interface PipelineFacts {
  readonly view: PipelineView
  /** The child of the present run. */
  readonly pid: number | undefined
  readonly media: MediaTotals
  readonly pushes: readonly PushFacts[]
}

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
