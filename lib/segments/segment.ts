/** A rectangle on the ground, degrees. */
interface GroundBox {
  readonly south: number
  readonly west: number
  readonly north: number
  readonly east: number
}

/** What the sensor saw in one second. */
export interface SecondSeen extends GroundBox {
  /** Seconds since the epoch. */
  readonly second: number
}

/** What is on the disk of a segment that is being written, and what was seen since it began. */
export interface WrittenSegment extends PlayedSegment {
  readonly seen: readonly SecondSeen[]
}

/** What can be played of a segment; of one that is being written, what is on the disk. */
export interface PlayedSegment extends Omit<Segment, 'counts' | 'seen'> {
  /** Undefined where packets were not counted up to `bytes`. */
  readonly counts: Segment['counts'] | undefined
}

/** A file of a recording that is complete. Times are milliseconds since the epoch: the arrival of frames at the engine. */
export interface Segment {
  readonly pipeline_id: string
  /** Of its first frame, which its file is named after. */
  readonly started_at: number
  /** Of the first frame after it, where the next segment begins without a gap. */
  readonly ended_at: number
  readonly bytes: number
  /** Such as `["h264","aac","klv"]`. */
  readonly tracks: readonly string[]
  /** Codec and size of the video, such as `avc1.640028 1920x1080`; empty where they are not known. */
  readonly format: string
  /** When the first segment of its span began: no media is missing since. */
  readonly span: number
  /** Segments of one run have times of one clock. */
  readonly run: string
  /** Decoding time of its first picture on that clock, ticks of 90 kHz modulo 2^33. */
  readonly first_dts: number
  /** Packets of each PID, modulo 16, as continuity counters count them. */
  readonly counts: Readonly<Record<string, number>>
  readonly seen: readonly SecondSeen[]
}
