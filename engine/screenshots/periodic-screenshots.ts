import { pause } from '../../lib/pause.ts'
import type { ScreenshotSchedule } from '../../lib/schema/screenshot.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { Gop } from '../rtp/gop-cache.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { Screenshot, ScreenshotDecoder } from './decode/screenshot-decoder.ts'

interface PeriodicScreenshotsHost {
  readonly stream: Pick<RtpStream, 'gop' | 'onUnit'>
  readonly decoder: Pick<ScreenshotDecoder, 'decode' | 'release'>
  readonly store: (screenshot: Screenshot) => Promise<void>
  /** Called when a screenshot could not be decoded or stored; the schedule continues. */
  readonly onFault: (error: unknown) => void
}

/** Part of the interval to wait for the next key frame, which alone is cheaper to decode than the GOP so far. */
const KEY_FRAME_WAIT = 1 / 5
/** Part of the interval to wait for the first key frame while the source is away. */
const SOURCE_AWAY_WAIT = 9 / 10

/** Takes a screenshot per interval while a schedule is set. Pauses while the source is away. */
export class PeriodicScreenshots {
  readonly #host: PeriodicScreenshotsHost
  #schedule: ScreenshotSchedule | undefined
  #abort: AbortController | undefined
  #lastFrameMs = Number.NEGATIVE_INFINITY

  constructor(host: PeriodicScreenshotsHost) {
    this.#host = host
  }

  get schedule(): ScreenshotSchedule | undefined {
    return this.#schedule
  }

  /** Starts at once and replaces the present schedule. */
  start(schedule: ScreenshotSchedule): void {
    this.stop()
    this.#schedule = schedule
    this.#abort = new AbortController()
    void this.#run(schedule, this.#abort.signal)
  }

  stop(): void {
    this.#schedule = undefined
    this.#abort?.abort()
    this.#abort = undefined
    this.#host.decoder.release()
  }

  async #run(schedule: ScreenshotSchedule, signal: AbortSignal): Promise<void> {
    const intervalMs = schedule.interval_seconds * 1000
    let dueMs = performance.now()
    while (!signal.aborted) {
      try {
        await this.#take(schedule, intervalMs, signal)
      } catch (error) {
        if (!signal.aborted) this.#host.onFault(error)
      }
      // Missed screenshots are not made up for.
      dueMs += intervalMs * Math.max(1, Math.ceil((performance.now() - dueMs) / intervalMs))
      await pause(dueMs - performance.now(), signal)
    }
  }

  async #take({ quality }: ScreenshotSchedule, intervalMs: number, signal: AbortSignal): Promise<void> {
    const { stream, decoder, store } = this.#host
    const wait = stream.gop === undefined ? SOURCE_AWAY_WAIT : KEY_FRAME_WAIT
    const keyFrameOf = await this.#nextKeyFrame(intervalMs * wait, signal)
    const newest = stream.gop?.newestArrivedMs
    // A source that is away or stalled has no new frame.
    if (signal.aborted || (keyFrameOf === undefined && (newest === undefined || newest <= this.#lastFrameMs))) return
    const screenshot = await decoder.decode({
      quality,
      width: null,
      signal,
      nextWithinMs: intervalMs * (1 + KEY_FRAME_WAIT),
      ...(keyFrameOf && { keyFrameOf }),
    })
    if (signal.aborted || screenshot.frameMs <= this.#lastFrameMs) return
    this.#lastFrameMs = screenshot.frameMs
    await store(screenshot)
  }

  /** The GOP whose key frame comes within this time and is a whole picture, undefined when none does. */
  #nextKeyFrame(waitMs: number, signal: AbortSignal): Promise<Gop | undefined> {
    const { stream } = this.#host
    const { gop } = stream
    const [first] = gop?.units ?? []
    if (gop?.units.length === 1 && isWhole(first) && gop.keyArrivedMs > this.#lastFrameMs) return Promise.resolve(gop)
    return new Promise((resolve) => {
      const settle = (found: Gop | undefined): void => {
        clearTimeout(timer)
        unsubscribe()
        signal.removeEventListener('abort', onAbort)
        resolve(found)
      }
      const onAbort = (): void => settle(undefined)
      const timer = setTimeout(settle, waitMs, undefined)
      const unsubscribe = stream.onUnit((unit) => {
        if (isWhole(unit)) settle(stream.gop)
      })
      signal.addEventListener('abort', onAbort)
    })
  }
}

/** A key frame that needs no later pictures to be whole. */
const isWhole = (unit: AccessUnit | undefined): boolean => unit?.key === true && unit.recoveryFrames === 0
