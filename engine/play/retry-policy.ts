import { Backoff, type Random } from '../../lib/backoff.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import { type Fault, worthRetrying, worthWaiting } from '../faults/fault.ts'
import { programToRead } from '../launch/program.ts'
import { TRANSPORT_REFUSED } from '../rtsp/client/client-faults.ts'

/** What ends a play that was not stopped. */
export type Failure = 'fault' | 'timeout' | 'give_up'

/** After this much media the delays between attempts begin with the shortest again, milliseconds. */
const GOOD_MEDIA_MS = 30_000
/** A child that crashes after less media than this crashed quickly, milliseconds. */
const QUICK_CRASH_MS = 1000
/** After this many quick crashes in a row the next child is delayed like after any other fault. */
const MAX_QUICK_CRASHES = 5
/** Before a source is read in another way: gst-rtsp-server answers 503 while it takes down the session that it has just refused. */
const OTHER_WAY_MS = 150
/** A caller waits for this many attempts that find nothing at the address, and no longer. */
export const MAX_AWAY = 2
/** A start that a caller waits for begins its last attempt this long before its deadline, milliseconds. */
const LAST_ATTEMPT_MS = 500

/** A camera that has just started may refuse a right password for a while, and one that is asked too often with a wrong one locks. */
const REFUSED = { tries: 3, delayMs: 10_000 }

interface RetryParts {
  readonly settings: () => EngineSettings
  /** A triggered pipeline gives up after a time of its own. */
  readonly ephemeral: boolean
  /** Math.random unless given. */
  readonly random?: Random | undefined
}

interface Loss {
  /** How long the media of the attempt lasted, milliseconds; undefined when there was none. */
  readonly mediaMs: number | undefined
  /** Since when there has been no media, milliseconds. */
  readonly lostForMs: number
  /** Whether the password of the source may be right although the source refuses it. */
  readonly trusted: boolean
}

/** Whether the source refuses one way of reading it, so that another one may succeed. */
export const refusesOneWay = (fault: Fault): boolean => fault.cause === TRANSPORT_REFUSED || programToRead(fault) !== undefined

/** What follows a fault of a play: the pause before the next attempt in milliseconds, or the failure that ends the play. */
export class RetryPolicy {
  readonly #parts: RetryParts
  readonly #backoff: Backoff
  #quickCrashes = 0
  /** Attempts that found nothing at the address. */
  #away = 0
  /** How often in a row the source has refused the password. */
  #refusals = 0
  /** The present attempt reads the source in another way than the one before, which was refused. */
  #otherWay = false

  constructor(parts: RetryParts) {
    this.#parts = parts
    this.#backoff = new Backoff(parts.random)
  }

  noteFault(fault: Fault): void {
    if (fault.reason === 'unauthorized') this.#refusals += 1
    if (fault.isAway) this.#away += 1
  }

  noteMedia(): void {
    this.#refusals = 0
  }

  /** The delays begin with the shortest again. */
  reset(): void {
    this.#backoff.reset()
  }

  /** While a caller waits for the start, which has `leftMs` left. */
  afterFailedStart(fault: Fault, leftMs: number): number | Failure {
    if (!worthWaiting(fault) || this.#away >= MAX_AWAY) return 'fault'
    const delay = this.#needsOtherWay(fault) ? OTHER_WAY_MS : this.#nextDelay()
    if (leftMs <= LAST_ATTEMPT_MS) return 'timeout'
    // The last attempt comes shortly before the deadline: the source may have come meanwhile.
    return Math.min(delay, leftMs - LAST_ATTEMPT_MS)
  }

  /** While no caller waits for the start. */
  afterLoss(fault: Fault, { mediaMs, lostForMs, trusted }: Loss): number | Failure {
    if (mediaMs !== undefined && mediaMs >= GOOD_MEDIA_MS) this.#backoff.reset()
    if (!this.goesOnAfter(fault, trusted)) return 'fault'
    const leftMs = Math.max(0, this.#giveUpAfterMs() - lostForMs)
    // A source that has just been lost is tried again, also when the loss was noticed late, as after a standstill of this process.
    if (leftMs === 0 && mediaMs === undefined) return 'give_up'
    if (this.#needsOtherWay(fault)) return OTHER_WAY_MS
    if (this.#restartsAtOnce(fault, mediaMs)) return 0
    const delay = this.#nextDelay()
    // The last attempt comes when the time to give up has come, not a whole delay after that.
    return Math.min(fault.reason === 'unauthorized' ? Math.max(delay, REFUSED.delayMs) : delay, Math.ceil(leftMs))
  }

  /** Whether attempts go on after this fault while no caller waits for the start. */
  goesOnAfter(fault: Fault, trusted: boolean): boolean {
    return fault.reason === 'unauthorized' ? trusted && this.#refusals <= REFUSED.tries : worthRetrying(fault)
  }

  #nextDelay(): number {
    return this.#backoff.next(this.#parts.settings().reconnect)
  }

  /** A source that refuses one way of reading is not away: the next attempt tries the other way. If that fails too, the delays begin. */
  #needsOtherWay(fault: Fault): boolean {
    this.#otherWay = refusesOneWay(fault) && !this.#otherWay
    return this.#otherWay
  }

  /** A crash after media is no sign that the source is away: the next child needs no delay unless it keeps crashing quickly. */
  #restartsAtOnce(fault: Fault, mediaMs: number | undefined): boolean {
    if (fault.reason !== 'crashed' || mediaMs === undefined) return false
    this.#quickCrashes = mediaMs < QUICK_CRASH_MS ? this.#quickCrashes + 1 : 0
    return this.#quickCrashes <= MAX_QUICK_CRASHES
  }

  #giveUpAfterMs(): number {
    const { reconnect, triggers } = this.#parts.settings()
    const seconds = this.#parts.ephemeral ? triggers.give_up_after_seconds : reconnect.give_up_after_seconds
    return seconds === null ? Number.POSITIVE_INFINITY : seconds * 1000
  }
}
