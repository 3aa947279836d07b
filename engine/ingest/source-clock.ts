/** A smaller error is not heard; the reports of cameras are exact to some milliseconds. */
const TOLERANCE_MS = 10
/** More is a fault of the source: picture and sound would not be in step. */
const MAX_ERROR_MS = 10_000
/** Two errors that differ by less are the same one. */
const SAME_MS = 20
/** The first error counts at once when it is larger than what a clock that is off by 1 % gives between the reports of two tracks, 5 s. */
const PLAIN_MS = 60
/** Reports that are closer together say nothing of the speed of a clock, milliseconds. */
const MIN_PASSED_MS = 1000
const MAX_DRIFT = 0.05

/** Wall clock of the source at running time 0 of a track, by its newest report; milliseconds. */
interface Zero {
  readonly wallMs: number
  readonly zeroMs: number
}

/**
 * How the tracks of a source relate, by the wall clock of their sender reports (RFC 3550 section 6.4.1). The video goes as it is; the
 * sound is moved where its reports say that it belongs.
 */
export class SourceClock {
  #video: Zero | undefined
  /** How fast `zeroMs` of the video changes: its media clock and its wall clock may differ in speed. */
  #drift = 0
  /** A report of the sound before the first one of the video. */
  #early: Zero | undefined
  #corrected = false
  #lastErrorMs: number | undefined
  #correctionMs = 0

  /** A report of the video: `runningMs` is the running time of the moment that it names. */
  reportVideo(wallMs: number, runningMs: number): void {
    const zeroMs = wallMs - runningMs
    const { wallMs: beforeMs = Number.NaN, zeroMs: zeroBeforeMs = 0 } = this.#video ?? {}
    const passedMs = wallMs - beforeMs
    const drift = passedMs >= MIN_PASSED_MS ? (zeroMs - zeroBeforeMs) / passedMs : Number.NaN
    if (Math.abs(drift) <= MAX_DRIFT) this.#drift = drift
    this.#video = { wallMs, zeroMs }
    if (this.#early !== undefined) this.#compare(this.#early, this.#video)
    this.#early = undefined
  }

  /**
   * A report of the sound. A first error that is plain counts at once, any other when the next report shows it again: the clock of the
   * source may be set between two reports.
   */
  reportSound(wallMs: number, runningMs: number): void {
    const sound = { wallMs, zeroMs: wallMs - runningMs }
    if (this.#video === undefined) this.#early = sound
    else this.#compare(sound, this.#video)
  }

  /** Milliseconds by which the running times of the sound are to be raised from now on; 0 when they are right. */
  takeCorrection(): number {
    const correctionMs = this.#correctionMs
    this.#correctionMs = 0
    return correctionMs
  }

  #compare(sound: Zero, video: Zero): void {
    // At the moment that the report of the sound names.
    const errorMs = sound.zeroMs - (video.zeroMs + this.#drift * (sound.wallMs - video.wallMs))
    const known = this.#lastErrorMs
    this.#lastErrorMs = errorMs
    if (Math.abs(errorMs) <= TOLERANCE_MS || Math.abs(errorMs) > MAX_ERROR_MS) {
      this.#corrected ||= Math.abs(errorMs) <= TOLERANCE_MS
      return
    }
    const isFirst = !this.#corrected && Math.abs(errorMs) > PLAIN_MS
    if (!isFirst && (known === undefined || Math.abs(errorMs - known) > SAME_MS)) return
    this.#corrected = true
    this.#lastErrorMs = 0
    this.#correctionMs = errorMs
  }
}
