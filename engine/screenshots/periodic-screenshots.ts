import type { ScreenshotSchedule } from '../../lib/schema/screenshot.ts'
import type { Gop } from '../rtp/gop-cache.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { Picture, ScreenshotDecoder } from './decode/screenshot-decoder.ts'

export interface PeriodicScreenshotsHost {
  readonly stream: Pick<RtpStream, 'gop' | 'onUnit'>
  readonly maker: Pick<ScreenshotDecoder, 'make'>
  readonly store: (picture: Picture) => Promise<void>
  /** A picture could not be made or stored; it goes on with the next one. */
  readonly onFault: (error: unknown) => void
}

/** Part of the interval for which a key frame is waited for, since it alone is cheaper to decode than all up to now. */
const KEY_FRAME_PATIENCE = 1 / 5
/** While the source is away its first key frame is waited for, nearly until the next picture is due. */
const RETURN_PATIENCE = 9 / 10

/** Makes a picture per interval as long as it is wished, and pauses while the source is away. */
export class PeriodicScreenshots {
  readonly #host: PeriodicScreenshotsHost
  #wish: ScreenshotSchedule | undefined
  #abort: AbortController | undefined
  #lastFrameMs = Number.NEGATIVE_INFINITY

  constructor(host: PeriodicScreenshotsHost) {
    this.#host = host
  }

  get wish(): ScreenshotSchedule | undefined {
    return this.#wish
  }

  /** Begins at once; a wish that runs already is replaced. */
  start(wish: ScreenshotSchedule): void {
    this.stop()
    this.#wish = wish
    this.#abort = new AbortController()
    void this.#run(wish, this.#abort.signal)
  }

  stop(): void {
    this.#wish = undefined
    this.#abort?.abort()
    this.#abort = undefined
  }

  async #run(wish: ScreenshotSchedule, signal: AbortSignal): Promise<void> {
    const intervalMs = wish.interval_seconds * 1000
    let dueMs = performance.now()
    while (!signal.aborted) {
      try {
        await this.#one(wish, intervalMs, signal)
      } catch (error) {
        if (!signal.aborted) this.#host.onFault(error)
      }
      // What was missed meanwhile is not made up for.
      dueMs += intervalMs * Math.max(1, Math.ceil((performance.now() - dueMs) / intervalMs))
      await pause(dueMs - performance.now(), signal)
    }
  }

  async #one({ quality }: ScreenshotSchedule, intervalMs: number, signal: AbortSignal): Promise<void> {
    const { stream, maker, store } = this.#host
    const patience = stream.gop === undefined ? RETURN_PATIENCE : KEY_FRAME_PATIENCE
    const keyFrameOf = await this.#nextKeyFrame(intervalMs * patience, signal)
    const newest = stream.gop?.newestArrivedMs
    // A source that is away, or that stalls, has nothing new to show.
    if (signal.aborted || (keyFrameOf === undefined && (newest === undefined || newest <= this.#lastFrameMs))) return
    const picture = await maker.make({ quality, width: null, signal, ...(keyFrameOf && { keyFrameOf }) })
    if (signal.aborted || picture.frameMs <= this.#lastFrameMs) return
    this.#lastFrameMs = picture.frameMs
    await store(picture)
  }

  /** The GOP that begins within the patience, undefined when none does. */
  #nextKeyFrame(patienceMs: number, signal: AbortSignal): Promise<Gop | undefined> {
    const { stream } = this.#host
    const { gop } = stream
    if (gop?.units.length === 1 && gop.keyArrivedMs > this.#lastFrameMs) return Promise.resolve(gop)
    return new Promise((resolve) => {
      const settle = (found: Gop | undefined): void => {
        clearTimeout(timer)
        unsubscribe()
        signal.removeEventListener('abort', onAbort)
        resolve(found)
      }
      const onAbort = (): void => settle(undefined)
      const timer = setTimeout(settle, patienceMs, undefined)
      const unsubscribe = stream.onUnit((unit) => {
        if (unit.key) settle(stream.gop)
      })
      signal.addEventListener('abort', onAbort)
    })
  }
}

/** Ends early when the signal aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, Math.max(0, ms))
    signal.addEventListener('abort', end)
  })
