import { createEngineCaller, type EngineAddress, type EngineCallerOptions } from '../../../lib/engine/caller.ts'
import { createEngineClient, followEngine } from '../../../lib/engine/client.ts'
import type { EngineAvailability } from '../../../lib/engine/engine-availability.ts'
import { follow } from '../../../lib/engine/follow.ts'
import type { NumberedEvent } from '../../../lib/engine/messages.ts'
import type { EngineMirror } from '../../../lib/engine/mirror.ts'
import { type EngineClient, PROTOCOL } from '../../../lib/engine/protocol.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { Occasion } from '../../../lib/pipelines/reconcile.ts'
import type { Log } from '../../../lib/ports.ts'

const FIRST_PAUSE_MS = 100
/** How long calls wait for the first engine, milliseconds. */
const STARTED_WITHIN_MS = 10_000
const MAX_PAUSE_MS = 5000
const NOT_STARTED = 'Nothing listens at SVC_ENGINE_URL yet. The engine is used as soon as it does.'

/** Nothing listens at the address: as where the engine starts after the API. */
const isRefused = (error: unknown): boolean =>
  error instanceof ApiError && error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'ECONNREFUSED'

/** The engine is there; what it should play is not known. */
const isOfDatabase = (error: unknown): boolean => error instanceof ApiError && error.details.reason === 'database'

export interface LinkOptions {
  readonly log: Log
  /** The engine is available once it is reconciled. */
  readonly availability: EngineAvailability
  /** Reconciles engine and database; the API uses the engine only afterwards. */
  readonly onReady: (engine: EngineClient, occasion: Occasion) => Promise<void>
  readonly onEvent: (event: NumberedEvent) => void
  /** Notes when a stream of events begins and ends, and what `onReady` is answered. */
  readonly mirror: Pick<EngineMirror, 'begin' | 'end' | 'noteAnswer'>
}

/** Where an engine comes from: an own sidecar, or one that runs elsewhere. */
interface EnginePlace {
  /** Finds or starts the engine; `found`: it was running already. Rejects soon after the signal has aborted. */
  readonly obtain: (signal: AbortSignal) => Promise<{ readonly address: EngineAddress; readonly found: boolean }>
  /** Ends the engine, also one that is starting. */
  readonly end: () => Promise<void>
  readonly kill?: () => void
  /** How long calls wait for an engine in the place of one that was lost, milliseconds; undefined: they fail until it is back. */
  readonly replacedWithinMs?: number
  /** How the engine is called; the fetch of the runtime by default. */
  readonly fetch?: EngineCallerOptions['fetch']
  /** The engine was lost: requests that still wait for it are given up. */
  readonly onLost?: () => void
  /** Silence after which the engine counts as lost, milliseconds; that of the protocol by default. */
  readonly silenceMs?: number
  readonly maxPauseMs?: number
}

interface Obtained {
  readonly address: EngineAddress
  readonly client: EngineClient
  readonly occasion: Occasion
}

/** Finds the engine, reconciles it and follows its events, again and again until the link is left or stopped. */
export class EngineLink {
  /** Settles when the first engine is ready, or the first attempt has failed (attempts continue). */
  readonly first: Promise<void>
  readonly fetch: EngineCallerOptions['fetch']
  readonly #place: EnginePlace
  readonly #options: LinkOptions
  readonly #firstAttempt = Promise.withResolvers<void>()
  readonly #stopping = new AbortController()
  /** Also gives up the start of an engine. */
  readonly #ending = new AbortController()
  readonly #followed: Promise<void>
  #obtained: Obtained | undefined
  #occasion: Occasion = 'service_start'
  /** The last message logged; undefined while the engine is there. */
  #lastFault: string | undefined

  constructor(place: EnginePlace, options: LinkOptions) {
    this.first = this.#firstAttempt.promise
    this.fetch = place.fetch
    this.#place = place
    this.#options = options
    options.availability.expect(STARTED_WITHIN_MS)
    const { ended } = follow({
      open: (signal) => this.#open(signal),
      onOpen: () => this.#onOpen(),
      onEvent: options.onEvent,
      onLost: (error) => this.#onLost(error),
      pauses: { initial_delay_ms: FIRST_PAUSE_MS, max_delay_seconds: (place.maxPauseMs ?? MAX_PAUSE_MS) / 1000 },
      signal: this.#stopping.signal,
    })
    this.#followed = ended
  }

  /** Stops following the engine, which continues with its streams. */
  async leave(): Promise<void> {
    this.#stopping.abort()
    this.#options.availability.setUnavailable()
    await this.#followed
    this.#firstAttempt.resolve()
  }

  /** Ends the engine and its streams, when it is our own. */
  async stop(): Promise<void> {
    this.#ending.abort()
    // Neither waits for the other: the end of the engine, and that of the calls on their way to it.
    await Promise.all([this.leave(), this.#place.end()])
    await this.#place.end()
  }

  /** Kills the engine, when it is our own. */
  kill(): void {
    this.#place.kill?.()
  }

  async *#open(signal: AbortSignal): AsyncGenerator<NumberedEvent> {
    const { mirror } = this.#options
    const { address, found } = await this.#place.obtain(this.#ending.signal)
    if (signal.aborted) return
    const { fetch } = this
    const caller = createEngineCaller({
      address: () => address,
      ...(fetch !== undefined && { fetch }),
      onAnswer: (moment) => mirror.noteAnswer(moment),
    })
    this.#obtained = { address, client: createEngineClient(caller), occasion: found ? 'engine_found' : this.#occasion }
    const { events } = PROTOCOL.engine
    try {
      for await (const event of followEngine(caller, { ...events, silenceMs: this.#place.silenceMs ?? events.silenceMs }, [], signal)) {
        if (event.type === 'begin') mirror.begin(event)
        yield event
      }
    } finally {
      mirror.end()
      this.#onClosed()
    }
  }

  async #onOpen(): Promise<void> {
    if (this.#obtained === undefined) return
    const { address, client, occasion } = this.#obtained
    await this.#options.onReady(client, occasion)
    if (this.#stopping.signal.aborted) return
    this.#options.availability.setAvailable(address)
    this.#lastFault = undefined
    this.#options.log.info('engine_ready', { occasion })
    this.#firstAttempt.resolve()
  }

  #onClosed(): void {
    const { availability } = this.#options
    const { replacedWithinMs, onLost } = this.#place
    if (replacedWithinMs === undefined || this.#stopping.signal.aborted) availability.setUnavailable()
    else if (availability.address() !== undefined) availability.expect(replacedWithinMs)
    onLost?.()
  }

  #onLost(error: unknown): void {
    this.#logFault(error)
    // It is not known when an engine that is not ours comes.
    if (this.#place.replacedWithinMs === undefined) this.#options.availability.setUnavailable()
    this.#occasion = 'engine_restarted'
    this.#firstAttempt.resolve()
  }

  /** Every attempt may fail in the same way: logged once. */
  #logFault(error: unknown): void {
    const { log } = this.#options
    const message = String(error)
    if (message === this.#lastFault) log.debug('engine_lost', { error })
    else if (this.#obtained === undefined && isRefused(error)) log.info('engine_awaited', { advice: NOT_STARTED })
    else log.error(isOfDatabase(error) ? 'engine_not_reconciled' : 'engine_lost', { error })
    this.#lastFault = message
  }
}
