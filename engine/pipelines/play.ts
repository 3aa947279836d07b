import { Backoff, GOOD_MEDIA_MS } from '../../lib/backoff.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Settings } from '../../lib/schema/settings.ts'
import { Fault, faultToApiError, worthRetrying, worthWaiting } from '../fault.ts'
import type { LifecycleEvent } from './lifecycle.ts'

/** A child that crashed after this much media was sound, milliseconds. */
const SOUND_MEDIA_MS = 1000
/** Crashes in a row, each sooner than that, after which the next child comes at once all the same. */
const MAX_QUICK_CRASHES = 5

/** What a session needs of its pipeline. Times are monotonic milliseconds. */
export interface SessionHost {
  readonly settings: () => Settings
  /** How long a lost source is waited for, milliseconds; null: for ever. */
  readonly patienceMs: () => number | null
  /** Runs one child to its end; undefined when the signal ended it. Calls `onMedia` at the first media. */
  readonly attempt: (startTimeoutMs: number, signal: AbortSignal, onMedia: () => void) => Promise<Fault | undefined>
  /** When media was last seen of the run that just ended. */
  readonly lastMediaAt: () => number
  readonly onEvent: (event: LifecycleEvent) => void
  readonly onFault: (fault: Fault) => void
  /** A pause before the next attempt begins (milliseconds), or it is over (null). */
  readonly onPause: (delayMs: number | null) => void
  /** Calls back when the source may be back before a pause is over; answers how to end that. */
  readonly onReturn?: (callback: () => void) => () => void
  /** The session ends by itself: `event` is fault, timeout or give_up. */
  readonly onFailed: (event: LifecycleEvent) => Promise<void>
}

/** One wish to play: attempts with backoff from the play to the stop, or to a failure that only a user can mend. */
export class Session {
  /** Nobody waits for the start, so a source that is away is waited for. */
  readonly patient: boolean
  /** A reader started it, so it ends when the last reader is gone; an explicit play turns it off. */
  byReader: boolean
  hadMedia = false
  lastFault: Fault | undefined
  /** Resolves when the last child is reaped. Never rejects. */
  readonly ended: Promise<void>
  readonly #abort = new AbortController()
  readonly #backoff = new Backoff()
  #quickCrashes = 0
  readonly #host: SessionHost
  readonly #started = Promise.withResolvers<void>()

  constructor(host: SessionHost, options: { readonly patient: boolean; readonly byReader: boolean }) {
    this.#host = host
    this.patient = options.patient
    this.byReader = options.byReader
    // Perhaps nobody waits: a failed start must not become an unhandled rejection.
    this.#started.promise.catch(() => {})
    this.ended = this.#live()
  }

  /** Ends the session; `ended` tells when. */
  stop(): void {
    this.#abort.abort()
  }

  /** Resolves at the first media; rejects with what a user can act on, at the latest after the start timeout. */
  async started(): Promise<void> {
    const timeoutMs = this.#host.settings().start_timeout_seconds * 1000
    let timer: NodeJS.Timeout | undefined
    // A session that somebody waits for watches its own deadline; a patient one goes on, only this wait ends.
    const deadline = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(startTimeout(this.lastFault, timeoutMs)), timeoutMs + (this.patient ? 0 : 10_000))
    })
    try {
      await Promise.race([this.#started.promise, deadline])
    } finally {
      clearTimeout(timer)
    }
  }

  async #live(): Promise<void> {
    const { signal } = this.#abort
    const deadline = performance.now() + this.#startTimeoutMs()
    let lostAt = performance.now()
    // The caller holds the session before its first event is told.
    await Promise.resolve()
    while (!signal.aborted) {
      const waiting = !this.patient && !this.hadMedia
      let mediaAt: number | undefined
      const fault = await this.#host.attempt(
        waiting ? Math.max(1, Math.round(deadline - performance.now())) : this.#startTimeoutMs(),
        signal,
        () => {
          mediaAt = performance.now()
          this.#onMedia()
        },
      )
      if (fault === undefined) break
      if (mediaAt !== undefined) lostAt = this.#host.lastMediaAt()
      const mediaMs = mediaAt === undefined ? undefined : lostAt - mediaAt
      if (mediaMs !== undefined && mediaMs >= GOOD_MEDIA_MS) this.#backoff.reset()
      // What the source said tells more than that time ran out.
      if (this.lastFault === undefined || fault.reason !== 'timeout' || this.hadMedia) this.lastFault = fault
      this.#host.onFault(fault)
      const verdict = waiting && !this.hadMedia ? this.#judgeStart(fault, deadline) : this.#judgeLoss(fault, lostAt, mediaMs)
      if (typeof verdict === 'string') {
        await this.#host.onFailed(verdict)
        this.#started.reject(verdict === 'timeout' ? startTimeout(this.lastFault, this.#startTimeoutMs()) : faultToApiError(fault))
        return
      }
      await this.#pause(verdict, signal)
    }
    this.#started.reject(new ApiError('CONFLICT', 'The pipeline was stopped while it was starting.', { reason: 'stopped' }))
  }

  #onMedia(): void {
    this.hadMedia = true
    this.lastFault = undefined
    this.#host.onEvent('media')
    this.#started.resolve()
  }

  /** Of a start that somebody waits for: the pause before the next attempt, or the event that ends it. */
  #judgeStart(fault: Fault, deadline: number): number | LifecycleEvent {
    if (!worthWaiting(fault)) return 'fault'
    const delay = this.#backoff.next(this.#host.settings().reconnect)
    return performance.now() + delay >= deadline ? 'timeout' : delay
  }

  /** Of a run that nobody waits for: the pause before the next attempt, or the event that ends it. */
  #judgeLoss(fault: Fault, lostAt: number, mediaMs: number | undefined): number | LifecycleEvent {
    if (!worthRetrying(fault)) return 'fault'
    const patience = this.#host.patienceMs()
    const left = patience === null ? Number.POSITIVE_INFINITY : patience - (performance.now() - lostAt)
    if (left <= 0) return 'give_up'
    this.#host.onEvent('lost')
    if (this.#comesBackAtOnce(fault, mediaMs)) return 0
    // The last attempt comes when the patience ends, not a whole delay after that.
    return Math.min(this.#backoff.next(this.#host.settings().reconnect), Math.ceil(left))
  }

  /** A child that crashed says nothing against its source, so the next one need not wait, unless they keep crashing right after their first media. */
  #comesBackAtOnce(fault: Fault, mediaMs: number | undefined): boolean {
    if (fault.reason !== 'crashed' || mediaMs === undefined) return false
    this.#quickCrashes = mediaMs >= SOUND_MEDIA_MS ? 0 : this.#quickCrashes + 1
    return this.#quickCrashes <= MAX_QUICK_CRASHES
  }

  async #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    if (delayMs <= 0 || signal.aborted) return
    this.#host.onPause(delayMs)
    const over = Promise.withResolvers<void>()
    const timer = setTimeout(over.resolve, delayMs)
    const onAbort = (): void => over.resolve()
    signal.addEventListener('abort', onAbort)
    const forget = this.#host.onReturn?.(() => {
      this.#backoff.reset()
      over.resolve()
    })
    await over.promise
    forget?.()
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    this.#host.onPause(null)
  }

  #startTimeoutMs(): number {
    return this.#host.settings().start_timeout_seconds * 1000
  }
}

const startTimeout = (lastFault: Fault | undefined, timeoutMs: number): ApiError => {
  const seconds = Math.round(timeoutMs / 1000)
  const fault = lastFault ?? new Fault('timeout', `No video came within ${seconds} s. Check that the source sends video now.`)
  return new ApiError('PIPELINE_START_TIMEOUT', `The pipeline did not start within ${seconds} s. ${fault.message}`, {
    cause: fault.message,
    reason: fault.reason,
  })
}
