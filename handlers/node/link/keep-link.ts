import {
  createEngineCaller,
  createEngineClient,
  type EngineAddress,
  type EngineCaller,
  type EngineCallerOptions,
  engineUnavailable,
} from '../../../lib/engine/client.ts'
import type { Occasion } from '../../../lib/pipelines/reconcile.ts'
import type { Engine, EngineEvent, Log } from '../../../lib/ports.ts'

const FIRST_RESTART_DELAY_MS = 100
const MAX_RESTART_DELAY_MS = 5000
/** An engine that lived this long was sound: the next restart comes at once again. */
const SOUND_AFTER_MS = 10_000

export interface EngineLink {
  /** Where the engine is; undefined while it is not there or not yet reconciled. */
  readonly address: () => EngineAddress | undefined
  /** How it is called; the runtime's own fetch when not given. */
  readonly fetch?: EngineCallerOptions['fetch']
  /** Settles when the first engine is ready, or the first attempt has failed (it goes on trying). */
  readonly first: Promise<void>
  /** Lets go of the engine: it goes on with its streams. */
  readonly leave: () => Promise<void>
  /** Ends the engine and its streams, when it is our own. */
  readonly stop: () => Promise<void>
}

export interface LinkOptions {
  readonly log: Log
  /** Brings engine and database to agreement; the API sees the engine only afterwards. */
  readonly onReady: (engine: Engine, occasion: Occasion, caller: EngineCaller) => Promise<void>
  readonly onEvent: (event: EngineEvent) => void
}

/** Where an engine comes from: an own sidecar, or one that runs elsewhere. */
export interface EnginePlace {
  /** Finds or starts the engine; `found`: it lived before us. */
  readonly obtain: () => Promise<{ readonly address: EngineAddress; readonly found: boolean }>
  readonly end: () => Promise<void>
  readonly fetch?: EngineCallerOptions['fetch']
  /** The engine was lost: whatever still waits for it is given up. */
  readonly lost?: () => void
  /** Silence after which the engine counts as lost, milliseconds; else as the client of its events has it. */
  readonly silenceMs?: number
  readonly maxRestartDelayMs?: number
}

/** Finds the engine, brings it to agreement and follows it, again and again until it is let go. */
export const keepLink = (place: EnginePlace, { log, onReady, onEvent }: LinkOptions): EngineLink => {
  const stopping = new AbortController()
  const first = Promise.withResolvers<void>()
  let ready: EngineAddress | undefined
  let attempts = 0
  /** What the log was told last of an engine that is away; undefined while it is there. */
  let trouble: string | undefined

  /** Each attempt may fail in the same way; once is enough to know. */
  const tellTrouble = (error: unknown): void => {
    const message = String(error)
    log[message === trouble ? 'debug' : 'error']('engine_lost', { error })
    trouble = message
  }

  /** From finding the engine to losing it. */
  const follow = async (occasion: Occasion): Promise<void> => {
    const { address, found } = await place.obtain()
    if (stopping.signal.aborted) return
    const caller = createEngineCaller({ address: () => address, ...(place.fetch !== undefined && { fetch: place.fetch }) })
    const engine = createEngineClient(caller)
    const { events, next, end } = followWithin(engine, place.silenceMs, stopping.signal)
    try {
      // The engine greets a subscriber at once; from here on no event is missed.
      await next()
      await onReady(engine, found ? 'engine_found' : occasion, caller)
      ready = address
      attempts = 0
      trouble = undefined
      log.info('engine_ready', { occasion: found ? 'engine_found' : occasion })
      first.resolve()
      for (let event = await next(); event.done !== true; event = await next()) onEvent(event.value)
    } finally {
      ready = undefined
      end()
      place.lost?.()
      await events.return?.()
    }
  }

  const keep = async (): Promise<void> => {
    let occasion: Occasion = 'service_start'
    while (!stopping.signal.aborted) {
      const began = performance.now()
      await follow(occasion).catch(tellTrouble)
      first.resolve()
      if (performance.now() - began > SOUND_AFTER_MS) attempts = 0
      occasion = 'engine_restarted'
      await sleep(Math.min(place.maxRestartDelayMs ?? MAX_RESTART_DELAY_MS, FIRST_RESTART_DELAY_MS * 2 ** attempts), stopping.signal)
      attempts = Math.min(attempts + 1, 16)
    }
  }

  const kept = keep()
  const leave = async (): Promise<void> => {
    stopping.abort()
    await kept
  }
  return {
    address: () => ready,
    ...(place.fetch !== undefined && { fetch: place.fetch }),
    first: first.promise,
    leave,
    stop: async () => {
      await leave()
      await place.end()
    },
  }
}

/** The engine's events; `next` rejects when none, not even a heartbeat, comes within `silenceMs`. */
const followWithin = (engine: Engine, silenceMs: number | undefined, stopping: AbortSignal) => {
  const ending = new AbortController()
  const end = (): void => ending.abort()
  stopping.addEventListener('abort', end, { once: true })
  const events = engine.events(ending.signal)[Symbol.asyncIterator]()
  const next = async (): Promise<IteratorResult<EngineEvent>> => {
    if (silenceMs === undefined) return events.next()
    const silence = Promise.withResolvers<never>()
    const timer = setTimeout(() => silence.reject(engineUnavailable()), silenceMs)
    try {
      return await Promise.race([events.next(), silence.promise])
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    events,
    next,
    end: () => {
      stopping.removeEventListener('abort', end)
      end()
    },
  }
}

/** Resolves after so many milliseconds, or when the signal aborts. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
