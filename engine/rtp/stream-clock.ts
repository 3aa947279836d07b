import type { RtpCaps } from './caps.ts'
import { Skew } from './skew.ts'
import type { Timeline } from './timeline.ts'

/** A timestamp that goes back by more than this means that the source restarted; less is a reordered frame. */
const BACKWARD_MS = 2_000
/** One that is ahead of its arrival by more than this means the same. */
const FORWARD_MS = 10_000
/** Least step between two pictures of a stream without reordered frames. */
const PICTURE_STEP_MS = 1

interface UnitTime {
  /** RTP timestamp for the readers. */
  readonly timestamp: number
  readonly mediaMs: number
}

interface UnitOrder {
  /** The source has restarted. */
  readonly restarted?: boolean
  /** How many pictures before it have the same timestamp. */
  readonly repeats?: number
  /** It is shown before one that came earlier, whatever the parameter sets state. */
  readonly reordered?: boolean
}

/** Maps the RTP timestamps of successive children to those of one continuous stream. */
export class StreamClock {
  readonly #timeline: Timeline
  /** Random start (RFC 3550 section 5.1). */
  readonly #base: number
  readonly #ownSkew = new Skew()
  #rate = 90_000
  /** The child's timestamp at running time 0, undefined when its caps do not state it. */
  #origin: number | undefined
  #beganMs = Number.NEGATIVE_INFINITY
  #last: { readonly raw: number; readonly extended: number; readonly arrivedMs: number } | undefined
  #anchorMs = 0
  #latestMs = Number.NEGATIVE_INFINITY
  /** Frames are not reordered: none is earlier than the one before it. */
  keepsOrder = false
  /** A frame may come as two pictures with one timestamp: its fields. */
  hasFields = false

  constructor(timeline: Timeline, base: number) {
    this.#timeline = timeline
    this.#base = base
  }

  /** Media time at which the running time of the present run began, monotonic milliseconds. */
  get runStartMs(): number {
    return this.#anchorMs
  }

  begin(nowMs: number): void {
    this.#beganMs = nowMs
    this.#last = undefined
    this.#origin = undefined
  }

  setCaps(caps: RtpCaps): void {
    const offset = Number(caps.parameters.get('timestamp-offset'))
    this.#rate = caps.clockRate
    this.#origin = Number.isInteger(offset) && offset >= 0 && offset <= 0xffffffff ? offset : undefined
  }

  /** Whether `raw` is before the timestamp of the last unit. */
  isBackward(raw: number): boolean {
    return this.#last !== undefined && ((raw - this.#last.raw) | 0) < 0
  }

  /** The time of the unit that carries the child's timestamp `raw`. */
  map(raw: number, arrivedMs: number, { restarted = false, repeats = 0, reordered = false }: UnitOrder = {}): UnitTime {
    const before = this.#last?.raw
    const extended = this.#extend(raw, arrivedMs, restarted)
    const exactMs = this.#anchorMs + (extended * 1000) / this.#rate
    const timed = repeats <= (this.hasFields ? 1 : 0)
    const earliestMs = this.keepsOrder && !reordered ? this.#earliestMs(raw === before) : exactMs
    const mediaMs = timed ? Math.max(exactMs, earliestMs) : this.#arrivalMs(arrivedMs)
    this.#latestMs = Math.max(this.#latestMs, mediaMs)
    this.#timeline.advanceTo(mediaMs)
    if (timed) this.#skew.observe(arrivedMs - mediaMs, arrivedMs)
    return { timestamp: this.timestampAt(mediaMs), mediaMs }
  }

  /** RTP timestamp of a media time, monotonic milliseconds. */
  timestampAt(mediaMs: number): number {
    return toUint32(this.#base + Math.round(((mediaMs - this.#timeline.startMs) * this.#rate) / 1000))
  }

  /** RTP timestamp of the moment `nowMs`, for sender reports: the same moment for all streams of a timeline. */
  timestampNow(nowMs: number): number {
    return this.timestampAt(nowMs - this.#skew.value)
  }

  /** tsdemux moves the times of a transport stream that comes in bursts by up to 140 ms in both directions. The slices of a picture may come as units of their own. */
  #earliestMs(isSamePicture: boolean): number {
    return isSamePicture ? this.#latestMs : this.#latestMs + PICTURE_STEP_MS
  }

  /**
   * For a picture without a time, which payloaders give that of the one before: tsdemux 1.22 has none while the PTS has passed 2^33 and
   * the PCR, up to a second behind, has not.
   */
  #arrivalMs(arrivedMs: number): number {
    return Math.max(this.#latestMs + PICTURE_STEP_MS, arrivedMs - this.#skew.value)
  }

  get #skew(): Skew {
    return this.#origin === undefined ? this.#ownSkew : this.#timeline.skew
  }

  /** Ticks since running time 0 (or since the first unit), without wrapping at 32 bits. */
  #extend(raw: number, arrivedMs: number, restarted: boolean): number {
    const last = this.#last
    const ticks = last === undefined ? 0 : this.#unwrapped(raw - last.raw, arrivedMs - last.arrivedMs)
    const aheadMs = last === undefined ? 0 : (ticks * 1000) / this.#rate - (arrivedMs - last.arrivedMs)
    const jumped = last !== undefined && (restarted || ticks < (-BACKWARD_MS * this.#rate) / 1000 || aheadMs > FORWARD_MS)
    const extended = last === undefined || jumped ? this.#start(raw, arrivedMs, jumped) : last.extended + ticks
    this.#last = { raw, extended, arrivedMs }
    return extended
  }

  /** Timestamps wrap every 13 hours at 90 kHz; a sparse stream may be silent for longer. Takes the number of wraps that fits the time that passed. */
  #unwrapped(ticks: number, passedMs: number): number {
    const wraps = Math.round(((passedMs * this.#rate) / 1000 - ticks) / 2 ** 32)
    return ticks + wraps * 2 ** 32
  }

  #start(raw: number, arrivedMs: number, jumped: boolean): number {
    // After a jump inside a run the offset of the caps is no longer valid.
    if (jumped) this.#origin = undefined
    const extended = this.#origin === undefined ? 0 : this.#unwrapped(raw - this.#origin, arrivedMs - this.#beganMs)
    const runningMs = (extended * 1000) / this.#rate
    if (this.#origin === undefined) {
      this.#anchorMs = arrivedMs
      this.#ownSkew.reset()
    } else this.#anchorMs = this.#timeline.anchor(this.#beganMs, runningMs, arrivedMs)
    // Never before what this stream has sent, whatever the other streams did.
    const backMs = this.#latestMs + 1 - (this.#anchorMs + runningMs)
    if (backMs > 0) this.#anchorMs += backMs
    return extended
  }
}

const toUint32 = (value: number): number => value - Math.floor(value / 2 ** 32) * 2 ** 32
