import type { LastError, Phase, PipelineState, Runtime } from '../../lib/schema/pipeline.ts'
import { type Fault, faultToApiError } from '../fault.ts'
import { type LifecycleEvent, nextPhase, stateOf } from './lifecycle.ts'

/** Where a pipeline stands in its life, and why: the part of `runtime` that is not counted. */
export class PipelineStatus {
  /** What was last asked for by a play or a stop; a start by a reader asks for nothing. */
  desired: PipelineState = 'ready'
  #phase: Phase = 'idle'
  #since: number
  #restarts = 0
  #nextRetryAt: number | null = null
  #lastError: LastError | null = null
  readonly #now: () => number

  /** `now`: milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
    this.#since = now()
  }

  get phase(): Phase {
    return this.#phase
  }

  state(hadMedia: boolean): PipelineState {
    return stateOf(this.#phase, hadMedia)
  }

  /** Takes an event of the lifecycle; answers the phase it led to, undefined when it stays. */
  move(event: LifecycleEvent): Phase | undefined {
    if (event === 'lost') this.#restarts += 1
    const next = nextPhase(this.#phase, event)
    if (next === undefined || next === this.#phase) return undefined
    this.#phase = next
    this.#since = this.#now()
    return next
  }

  /** A new wish to play begins: what went wrong before is over. */
  begin(): void {
    this.#restarts = 0
    this.#lastError = null
  }

  forgetError(): void {
    this.#lastError = null
  }

  noteFault(fault: Fault): LastError {
    this.#lastError = { code: faultToApiError(fault).code, message: fault.message, at: new Date(this.#now()).toISOString() }
    return this.#lastError
  }

  /** The pause before the next attempt, milliseconds; null: it is over. */
  notePause(delayMs: number | null): void {
    this.#nextRetryAt = delayMs === null ? null : this.#now() + delayMs
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
