import type { EngineChange } from '../../lib/engine/messages.ts'
import type { Log } from '../../lib/ports.ts'
import type { LastError, Phase, PipelineState, Runtime } from '../../lib/schema/pipeline.ts'
import { type Fault, faultCode } from '../faults/fault.ts'
import type { LogRing } from '../play/log-ring.ts'
import { refusesOneWay } from '../play/retry-policy.ts'
import { type LifecycleEvent, nextPhase, stateOf } from './lifecycle.ts'

interface StatusParts {
  readonly id: string
  readonly logRing: LogRing
  readonly log: Log
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly emit: (change: EngineChange) => void
  /** The view of the pipeline has changed. */
  readonly onChange: () => void
}

/** The phase of a pipeline and what led to it: the part of `runtime` that is not about media. Logs and publishes each change. */
export class PipelineStatus {
  /** The state that the last play or stop command requested; a start by a reader leaves it as it is. */
  desired: PipelineState = 'ready'
  readonly #parts: StatusParts
  #phase: Phase = 'idle'
  #since: number
  #restarts = 0
  #nextRetryAt: number | null = null
  #lastError: LastError | null = null
  /** The error before the last one. */
  #errorBefore: LastError | null = null
  #lastFault: Fault | undefined

  constructor(parts: StatusParts) {
    this.#parts = parts
    this.#since = parts.now()
  }

  get phase(): Phase {
    return this.#phase
  }

  /** The newest fault of the present configuration, also of an earlier play. */
  get lastFault(): Fault | undefined {
    return this.#lastFault
  }

  state(hadMedia: boolean): PipelineState {
    return stateOf(this.#phase, hadMedia)
  }

  /** A play begins: the restarts and the error of the one before are over. */
  begin(): void {
    this.#restarts = 0
    this.#lastError = null
  }

  /** What went wrong is over: with another source, or an output that listens again. */
  forgetFault(): void {
    this.#lastError = null
    this.#lastFault = undefined
  }

  /** Applies an event of the lifecycle. */
  move(event: LifecycleEvent): void {
    const { id, logRing, log, now, onChange } = this.#parts
    if (event === 'lost') this.#restarts += 1
    const next = nextPhase(this.#phase, event)
    if (next === undefined || next === this.#phase) return
    this.#phase = next
    this.#since = now()
    logRing.add(logRing.run, 'engine', `phase: ${next}`)
    log.info('pipeline_phase', { pipeline_id: id, phase: next, after: event })
    onChange()
  }

  /** There is media. If that took another way of reading the source, the refusal of the first way was no error. */
  noteMedia(): void {
    if (this.#lastFault !== undefined && refusesOneWay(this.#lastFault)) this.#lastError = this.#errorBefore
    this.move('media')
  }

  /** `hadMedia`: the present play has played. */
  noteFault(fault: Fault, hadMedia = false): void {
    const { id, logRing, log, now, emit } = this.#parts
    const { reason, message } = fault
    const code = faultCode(fault, hadMedia)
    this.#lastFault = fault
    this.#errorBefore = this.#lastError
    this.#lastError = { code, message, at: new Date(now()).toISOString() }
    logRing.add(logRing.run, 'engine', `${reason}: ${message}`)
    log.warn('pipeline_fault', { pipeline_id: id, run: logRing.run, reason, message })
    emit({ type: 'pipeline_error', id, code, message, cause: message, reason })
  }

  /** The pause before the next attempt began and takes `delayMs`; null: it is over. */
  notePause(delayMs: number | null): void {
    const { now, onChange } = this.#parts
    this.#nextRetryAt = delayMs === null ? null : now() + delayMs
    if (delayMs !== null) onChange()
  }

  read(): Pick<Runtime, 'phase' | 'desired' | 'since' | 'restarts' | 'next_retry_at' | 'last_error'> {
    return {
      phase: this.#phase,
      desired: this.desired,
      since: new Date(this.#since).toISOString(),
      restarts: this.#restarts,
      next_retry_at: this.#nextRetryAt === null ? null : new Date(this.#nextRetryAt).toISOString(),
      last_error: this.#lastError,
    }
  }
}
