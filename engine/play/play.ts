import type { Random } from '../../lib/backoff.ts'
import { type MaskSecrets, maskSecretsOf } from '../../lib/credentials/secrets.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import { type Fault, faultToApiError, maskFault, worthWaiting } from '../faults/fault.ts'
import type { Plan, Planner } from '../launch/plan.ts'
import type { FoundSound } from '../mount/served-sound.ts'
import type { Output } from '../outputs/rtsp.ts'
import type { LogRing } from './log-ring.ts'
import { MediaStats } from './media-stats.ts'
import { type Failure, MAX_AWAY, RetryPolicy } from './retry-policy.ts'
import { startTimeout, toFault } from './start-fault.ts'
import type { RunContext, RunEvent } from './watchdog.ts'

export type PlayEvent =
  /** The source carries KLV, or does not. */
  | { readonly type: 'klv'; readonly available: boolean; readonly synchronous?: boolean }
  /** A run begins; what is known of its sound. */
  | { readonly type: 'sound'; readonly found: FoundSound }
  /** The first media of a run came. */
  | { readonly type: 'media' }
  /** An attempt ended with a fault. The play goes on unless `failed` follows. */
  | { readonly type: 'fault'; readonly fault: Fault }
  /** The source is lost: attempts go on in the background. */
  | { readonly type: 'lost' }
  /** A pause before the next attempt began; null: it is over. */
  | { readonly type: 'pause'; readonly delayMs: number | null }
  /** The play ended without a stop; its output is released. */
  | { readonly type: 'failed'; readonly failure: Failure }

/** What to do on each event of a play. */
export type PlayHandlers = { readonly [T in PlayEvent['type']]: (event: Extract<PlayEvent, { readonly type: T }>) => void }

/** What a play needs of its pipeline. */
export interface PlayParts {
  readonly config: PipelineConfig
  readonly settings: () => EngineSettings
  readonly planner: Pick<Planner, 'plan' | 'onReturn'>
  readonly output: Pick<Output, 'open'>
  /** Lets go of the output after a failure. */
  readonly releaseOutput: () => Promise<void>
  readonly streams: RunContext['streams']
  readonly runPlan: (run: RunContext, plan: Plan) => Promise<Fault | undefined>
  readonly logRing: LogRing
  readonly log: Log
  /** How the last run before this play ended; the planner may probe the source in another way after it. */
  readonly previousFault: Fault | undefined
  readonly report: (event: PlayEvent) => void
  /** Math.random unless given. */
  readonly random?: Random
}

/**
 * One request to play: attempts with backoff from the play command to the stop, or to a failure.
 * An attempt opens the output, probes the source, and runs a child until it is reaped or reads the source until it ends.
 */
export class Play {
  /** A caller waits for the start, so the play fails without media in the start timeout. Otherwise attempts go on in the background. */
  readonly awaited: boolean
  /** A reader started it, so it ends some time after the last reader has left; a play command turns this off. */
  byReader: boolean
  readonly mediaStats = new MediaStats()
  /** Resolves when the last child is reaped, and the last source closed. Never rejects. */
  readonly ended: Promise<void>
  readonly #parts: PlayParts
  readonly #mask: MaskSecrets
  readonly #abort = new AbortController()
  readonly #retry: RetryPolicy
  readonly #started = Promise.withResolvers<void>()
  /** Callers that wait for the start of a play in the background; called at each fault, after which the play goes on. */
  readonly #waiting = new Set<(fault: Fault) => void>()
  /** Ends the present pause between two attempts. */
  #endPause = (): void => {}
  #hadMedia = false
  #pid: number | undefined
  /** When the first media of the present attempt came, monotonic milliseconds. */
  #mediaAt: number | undefined
  #previousFault: Fault | undefined
  /** The cause that a start which times out reports. */
  #cause: Fault | undefined

  constructor(parts: PlayParts, options: { readonly awaited: boolean; readonly byReader: boolean }) {
    this.#parts = parts
    this.#mask = maskSecretsOf(parts.config)
    this.awaited = options.awaited
    this.byReader = options.byReader
    this.#previousFault = parts.previousFault
    this.#retry = new RetryPolicy({ settings: parts.settings, ephemeral: parts.config.ephemeral, random: parts.random })
    // When no caller waits, a failed start must not become an unhandled rejection.
    this.#started.promise.catch(() => {})
    this.ended = this.#attemptUntilEnd()
  }

  get hadMedia(): boolean {
    return this.#hadMedia
  }

  /** The child of the present run; undefined when it has none. */
  get pid(): number | undefined {
    return this.#pid
  }

  /** Ends the play; `ended` resolves when the child is reaped. */
  stop(): void {
    this.#abort.abort()
  }

  /** The error of a caller that has waited for the first media as long as a start may take; undefined once there was media. */
  startTimeout(): ApiError | undefined {
    return this.#hadMedia ? undefined : startTimeout(this.#cause, this.#startTimeoutMs())
  }

  /** Resolves at the first media; rejects with the ApiError of a start that failed, was stopped or takes longer than the start timeout. */
  async started(): Promise<void> {
    const timeoutMs = this.#startTimeoutMs()
    const { promise: over, reject } = Promise.withResolvers<never>()
    // An awaited play fails at its own deadline; one in the background goes on, and only this wait ends.
    const timer = setTimeout(() => reject(startTimeout(this.#cause, timeoutMs)), timeoutMs + (this.awaited ? 10_000 : 0))
    let away = 0
    const onFault = (fault: Fault): void => {
      if (fault.isAway) away += 1
      // A fault that ends the play is answered when its output is released.
      if ((!worthWaiting(fault) || away >= MAX_AWAY) && this.#retry.goesOnAfter(fault, this.#trusted)) reject(faultToApiError(fault))
    }
    if (!this.awaited && !this.#hadMedia) {
      this.#waiting.add(onFault)
      // The source may be there by now: a caller does not wait for the delay after the attempts before.
      this.#retrySoon()
    }
    try {
      await Promise.race([this.#started.promise, over])
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(onFault)
    }
  }

  async #attemptUntilEnd(): Promise<void> {
    const { signal } = this.#abort
    const { report, releaseOutput } = this.#parts
    const deadline = performance.now() + this.#startTimeoutMs()
    let lostAt = performance.now()
    // The caller has stored the play before it reports its first event.
    await Promise.resolve()
    while (!signal.aborted) {
      const starting = this.awaited && !this.#hadMedia
      const ended = await this.#attempt(starting ? Math.max(1, Math.round(deadline - performance.now())) : this.#startTimeoutMs())
      if (ended === undefined) break
      const fault = maskFault(ended, this.#mask)
      if (this.#mediaAt !== undefined) lostAt = this.mediaStats.lastFrameAt ?? performance.now()
      this.#noteFault(fault)
      const awaited = starting && !this.#hadMedia
      const next = awaited ? this.#retry.afterFailedStart(fault, deadline - performance.now()) : this.#afterLoss(fault, lostAt)
      if (typeof next === 'string') {
        await releaseOutput()
        report({ type: 'failed', failure: next })
        this.#started.reject(next === 'timeout' ? startTimeout(this.#cause, this.#startTimeoutMs()) : faultToApiError(fault))
        return
      }
      if (!awaited) report({ type: 'lost' })
      await this.#pause(next, signal)
    }
    this.#started.reject(new ApiError('CONFLICT', 'The pipeline was stopped while it was starting.', { reason: 'stopped' }))
  }

  /** Resolves to the fault that ended the attempt, undefined when a stop did. */
  async #attempt(startTimeoutMs: number): Promise<Fault | undefined> {
    const { config, settings, planner, output, runPlan, logRing, log, report } = this.#parts
    const { signal } = this.#abort
    const number = logRing.beginRun(this.#mask)
    const began = performance.now()
    this.#mediaAt = undefined
    try {
      await output.open(config)
      const attempt = { signal, timeoutMs: startTimeoutMs, previousFault: this.#previousFault }
      const plan = await planner.plan(config, settings(), attempt)
      const run = this.#context(number, Math.max(1, Math.round(startTimeoutMs - (performance.now() - began))))
      if (!signal.aborted) report({ type: 'sound', found: plan.sound })
      if (plan.klv !== null && !signal.aborted) report({ type: 'klv', available: plan.klv })
      // It closes its connection also when the play was stopped meanwhile.
      const isOpen = !('launch' in plan) || plan.source !== undefined || plan.body !== undefined
      return signal.aborted && !isOpen ? undefined : await runPlan(run, plan)
    } catch (error) {
      return signal.aborted ? undefined : toFault(error, config.id, log)
    } finally {
      this.#pid = undefined
    }
  }

  #context(number: number, startTimeoutMs: number): RunContext {
    const { settings, streams, logRing } = this.#parts
    return {
      number,
      streams,
      mediaStats: this.mediaStats,
      logRing,
      signal: this.#abort.signal,
      startTimeoutMs,
      stallTimeoutMs: () => settings().stall_timeout_seconds * 1000,
      report: (event) => this.#onRunEvent(event, number),
    }
  }

  #onRunEvent(event: RunEvent, number: number): void {
    const { logRing, report } = this.#parts
    if (event.type === 'started') {
      this.#pid = event.pid
      logRing.add(number, 'engine', `started process ${event.pid}`)
    } else if (event.type === 'klv' || event.type === 'sound') {
      report(event)
    } else {
      this.#mediaAt = performance.now()
      this.#hadMedia = true
      this.#retry.noteMedia()
      report({ type: 'media' })
      this.#started.resolve()
    }
  }

  #noteFault(fault: Fault): void {
    this.#previousFault = fault
    this.#retry.noteFault(fault)
    // A fault of the source says more about a failed start than the timeout after it.
    if (this.#cause === undefined || fault.reason !== 'timeout') this.#cause = fault
    this.#parts.report({ type: 'fault', fault })
    for (const onFault of this.#waiting) onFault(fault)
  }

  #afterLoss(fault: Fault, lostAt: number): number | Failure {
    const mediaMs = this.#mediaAt === undefined ? undefined : lostAt - this.#mediaAt
    return this.#retry.afterLoss(fault, { mediaMs, lostForMs: performance.now() - lostAt, trusted: this.#trusted })
  }

  /** Whether a password that the source refuses may be right: a user who starts a play may have set a wrong one just now. */
  get #trusted(): boolean {
    return this.#hadMedia || !(this.awaited || this.byReader)
  }

  /** Waits until the delay has passed, the source may be back, or the play is stopped. */
  async #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    if (delayMs <= 0 || signal.aborted) return
    const { config, planner, report } = this.#parts
    report({ type: 'pause', delayMs })
    const over = Promise.withResolvers<void>()
    const timer = setTimeout(over.resolve, delayMs)
    const onAbort = (): void => over.resolve()
    signal.addEventListener('abort', onAbort)
    this.#endPause = over.resolve
    const unsubscribe = planner.onReturn(config, () => this.#retrySoon())
    await over.promise
    unsubscribe()
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    report({ type: 'pause', delayMs: null })
  }

  /** The present pause is over, and the delays begin with the shortest again. */
  #retrySoon(): void {
    this.#retry.reset()
    this.#endPause()
  }

  #startTimeoutMs(): number {
    return this.#parts.settings().start_timeout_seconds * 1000
  }
}
