import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createEngineCaller,
  createEngineClient,
  type EngineAddress,
  type EngineCaller,
  type EngineCallerOptions,
  engineUnavailable,
} from '../../lib/engine-client.ts'
import type { Engine, EngineEvent, Log } from '../../lib/ports.ts'
import type { Occasion } from '../../lib/reconcile.ts'

const START_PATIENCE_MS = 10_000
const STOP_PATIENCE_MS = 15_000
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

export interface SidecarOptions extends LinkOptions {
  /** The bundled engine. */
  readonly entry: string
  readonly dataDir: string
  readonly version: string
  readonly environment: NodeJS.ProcessEnv
}

/** Finds the engine that an earlier API process left, or starts one, and starts another one whenever it is gone. */
export const keepSidecar = (options: SidecarOptions): EngineLink => {
  let current: Announced | undefined
  return keepLink(
    {
      obtain: async () => {
        const running = await findRunning(options)
        current = running ?? (await startEngine(options))
        return { address: current, found: running !== undefined }
      },
      end: async () => {
        if (current !== undefined) await endProcess(current.pid, options.entry)
      },
    },
    options,
  )
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

interface Announced extends EngineAddress {
  readonly pid: number
  readonly version: string
}

const addressFile = (dataDir: string): string => join(dataDir, 'engine.json')

const readAnnounced = (dataDir: string): Announced | undefined => {
  try {
    const value = JSON.parse(readFileSync(addressFile(dataDir), 'utf8')) as Partial<Announced>
    const { url, token, pid, version } = value
    if (typeof url !== 'string' || typeof token !== 'string' || typeof pid !== 'number' || typeof version !== 'string') return undefined
    return { url, token, pid, version }
  } catch {
    return undefined
  }
}

/** The engine an earlier API process left, when it answers and is of our version; one that does not is ended. */
const findRunning = async ({ dataDir, version, entry, log }: SidecarOptions): Promise<Announced | undefined> => {
  const announced = readAnnounced(dataDir)
  if (announced === undefined || !isEngine(announced.pid, entry)) return undefined
  try {
    const status = await createEngineClient(createEngineCaller({ address: () => announced })).status()
    if (status.pid === announced.pid && status.version === version) return announced
    log.warn('engine_of_another_version', { found: status.version, wanted: version })
    await endProcess(announced.pid, entry)
  } catch (error) {
    log.warn('engine_does_not_answer', { pid: announced.pid, error })
    await endProcess(announced.pid, entry, ['SIGKILL'])
  }
  return undefined
}

/** Starts an engine that outlives this process: a session of its own, and only the log shared. */
const startEngine = async ({ entry, dataDir, environment, log }: SidecarOptions): Promise<Announced> => {
  const child = spawn(process.execPath, [entry], { detached: true, stdio: ['ignore', 'pipe', 'inherit'], env: environment })
  const outcome = Promise.withResolvers<void>()
  const timer = setTimeout(() => outcome.reject(new Error('the engine did not become ready in time')), START_PATIENCE_MS)
  child.once('error', outcome.reject)
  child.once('exit', (code, signal) => outcome.reject(new Error(`the engine ended (${signal ?? `exit code ${code}`})`)))
  child.stdout.once('data', () => outcome.resolve())
  try {
    await outcome.promise
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  } finally {
    clearTimeout(timer)
    child.stdout.destroy()
    child.unref()
  }
  const announced = readAnnounced(dataDir)
  if (announced === undefined || announced.pid !== child.pid) throw new Error('the engine did not announce its address')
  log.debug('engine_spawned', { pid: announced.pid })
  return announced
}

/** Whether the process exists, is no zombie and runs our engine: a pid may have been given to another program since. */
const isEngine = (pid: number, entry: string): boolean => {
  try {
    const state = /^\d+ \(.*\) (\S)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
    return state !== 'Z' && state !== 'X' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(entry)
  } catch {
    return false
  }
}

/** SIGTERM, and SIGKILL when that does not help; resolves when the process is gone. */
const endProcess = async (pid: number, entry: string, ladder: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGKILL']): Promise<void> => {
  for (const signal of ladder) {
    if (!isEngine(pid, entry)) return
    try {
      process.kill(pid, signal)
    } catch {
      return
    }
    const patience = performance.now() + STOP_PATIENCE_MS
    while (isEngine(pid, entry) && performance.now() < patience) await sleep(20)
  }
}

const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
