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

/** The engine is there, but not what it should play. */
const isOfDatabase = (error: unknown): boolean => error instanceof ApiError && error.details.reason === 'database'

export interface EngineLink {
  /** How it is called; the runtime's own fetch when not given. */
  readonly fetch?: EngineCallerOptions['fetch']
  /** Settles when the first engine is ready, or the first attempt has failed (it goes on trying). */
  readonly first: Promise<void>
  /** Lets go of the engine: it goes on with its streams. */
  readonly leave: () => Promise<void>
  /** Ends the engine and its streams, when it is our own. */
  readonly stop: () => Promise<void>
  /** Kills the engine, when it is our own. */
  readonly kill: () => void
}

export interface LinkOptions {
  readonly log: Log
  /** The engine is available once it is reconciled. */
  readonly availability: EngineAvailability
  /** Reconciles engine and database; the API sees the engine only afterwards. */
  readonly onReady: (engine: EngineClient, occasion: Occasion) => Promise<void>
  readonly onEvent: (event: NumberedEvent) => void
  /** Notes when a stream of events begins and ends, and what `onReady` is answered. */
  readonly mirror: Pick<EngineMirror, 'begin' | 'end' | 'noteAnswer'>
}

/** Where an engine comes from: an own sidecar, or one that runs elsewhere. */
interface EnginePlace {
  /** Finds or starts the engine; `found`: it ran before us. Rejects soon after the signal has aborted. */
  readonly obtain: (signal: AbortSignal) => Promise<{ readonly address: EngineAddress; readonly found: boolean }>
  /** Ends the engine, also one that is starting. */
  readonly end: () => Promise<void>
  readonly kill?: () => void
  /** How long calls wait for an engine in the place of one that was lost, milliseconds; undefined: they fail until it is back. */
  readonly replacedWithinMs?: number
  readonly fetch?: EngineCallerOptions['fetch']
  /** The engine was lost: requests that still wait for it are given up. */
  readonly onLost?: () => void
  /** Silence after which the engine counts as lost, milliseconds; else as the protocol has it. */
  readonly silenceMs?: number
  readonly maxPauseMs?: number
}

/** Finds the engine, reconciles it and follows its events, again and again until the link is left or stopped. */
export const keepLink = (place: EnginePlace, { log, availability, onReady, onEvent, mirror }: LinkOptions): EngineLink => {
  const stopping = new AbortController()
  /** Also the start of an engine is given up. */
  const ending = new AbortController()
  const first = Promise.withResolvers<void>()
  const reach = place.fetch === undefined ? {} : { fetch: place.fetch }
  const events = { ...PROTOCOL.engine.events, silenceMs: place.silenceMs ?? PROTOCOL.engine.events.silenceMs }
  availability.expect(STARTED_WITHIN_MS)
  let obtained: { readonly address: EngineAddress; readonly client: EngineClient; readonly occasion: Occasion } | undefined
  let occasion: Occasion = 'service_start'
  /** The last fault that was logged; undefined while the engine is there. */
  let lastFault: string | undefined

  /** Every attempt may fail in the same way: logged once. */
  const logFault = (error: unknown): void => {
    const message = String(error)
    if (message === lastFault) log.debug('engine_lost', { error })
    else if (obtained === undefined && isRefused(error)) log.info('engine_awaited', { advice: NOT_STARTED })
    else log.error(isOfDatabase(error) ? 'engine_not_reconciled' : 'engine_lost', { error })
    lastFault = message
  }

  const onLoss = (): void => {
    if (place.replacedWithinMs === undefined || stopping.signal.aborted) availability.setUnavailable()
    else if (availability.address() !== undefined) availability.expect(place.replacedWithinMs)
  }

  async function* open(signal: AbortSignal): AsyncGenerator<NumberedEvent> {
    const { address, found } = await place.obtain(ending.signal)
    if (signal.aborted) return
    const caller = createEngineCaller({ address: () => address, ...reach, onAnswer: (moment) => mirror.noteAnswer(moment) })
    obtained = { address, client: createEngineClient(caller), occasion: found ? 'engine_found' : occasion }
    try {
      for await (const event of followEngine(caller, events, [], signal)) {
        if (event.type === 'begin') mirror.begin(event)
        yield event
      }
    } finally {
      mirror.end()
      onLoss()
      place.onLost?.()
    }
  }

  const onOpen = async (): Promise<void> => {
    if (obtained === undefined) return
    await onReady(obtained.client, obtained.occasion)
    if (stopping.signal.aborted) return
    availability.setAvailable(obtained.address)
    lastFault = undefined
    log.info('engine_ready', { occasion: obtained.occasion })
    first.resolve()
  }

  const { ended } = follow({
    open,
    onOpen,
    onEvent,
    onLost: (error) => {
      logFault(error)
      // Nothing tells when an engine that is not ours comes.
      if (place.replacedWithinMs === undefined) availability.setUnavailable()
      occasion = 'engine_restarted'
      first.resolve()
    },
    pauses: { initial_delay_ms: FIRST_PAUSE_MS, max_delay_seconds: (place.maxPauseMs ?? MAX_PAUSE_MS) / 1000 },
    signal: stopping.signal,
  })

  const leave = async (): Promise<void> => {
    stopping.abort()
    availability.setUnavailable()
    await ended
    first.resolve()
  }
  return {
    ...reach,
    first: first.promise,
    leave,
    stop: async () => {
      ending.abort()
      // The engine ends while what is still asked of it is given up: neither waits for the other.
      await Promise.all([leave(), place.end()])
      await place.end()
    },
    kill: () => place.kill?.(),
  }
}
