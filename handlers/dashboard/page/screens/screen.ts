import type { VideoConfig } from '../../../../lib/video-records.ts'
import type { VideoChunk } from './records.ts'

/** Shows a stream in one of the ways. */
export interface Screen {
  readonly configure: (config: VideoConfig) => void
  readonly show: (chunk: VideoChunk) => void
  readonly close: () => void
}

export interface ScreenEvents {
  /**
   * A picture is on the screen; milliseconds since its data came, and its time in the stream, in the unit of the times of its KLV; null
   * when that is unknown.
   */
  readonly onPicture: (delayMs: number | null, timestamp: number | null) => void
  /** This way does not work for this stream. */
  readonly onFailure: (why: string) => void
}
