import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEngineClient, type EngineAddress } from '../../lib/engine-client.ts'
import type { Engine, EngineEvent, Log } from '../../lib/ports.ts'

const START_PATIENCE_MS = 10_000
const STOP_PATIENCE_MS = 15_000
const FIRST_RESTART_DELAY_MS = 100
const MAX_RESTART_DELAY_MS = 5000
/** An engine that lived this long was sound: the next restart comes at once again. */
const SOUND_AFTER_MS = 10_000

/** How the API came by its engine; tells reconciliation what may be missing in it. */
export type SidecarOrigin = 'service_start' | 'engine_found' | 'engine_restarted'

export interface SidecarOptions {
  /** The bundled engine. */
  readonly entry: string
  readonly dataDir: string
  readonly version: string
  readonly environment: NodeJS.ProcessEnv
  readonly log: Log
  /** Brings engine and database to agreement; the API sees the engine only afterwards. */
  readonly onReady: (engine: Engine, origin: SidecarOrigin) => Promise<void>
  readonly onEvent: (event: EngineEvent) => void
}

export interface Sidecar {
  /** Where the engine is; undefined while it is not there or not yet reconciled. */
  readonly address: () => EngineAddress | undefined
  /** Ends the engine and its streams. */
  readonly stop: () => Promise<void>
}

interface Announced extends EngineAddress {
  readonly pid: number
  readonly version: string
}

/**
 * Finds the engine that an earlier API process left, or starts one, and starts another one whenever it is gone.
 * Resolves when the first engine is ready, or when the first attempt has failed (it goes on trying).
 */
export const keepSidecar = async (options: SidecarOptions): Promise<Sidecar> => {
  const { log } = options
  const stopping = new AbortController()
  let ready: Announced | undefined
  let current: Announced | undefined
  let attempts = 0

  const oneLife = async (origin: SidecarOrigin, onReady: () => void): Promise<void> => {
    const found = await findRunning(options)
    current = found ?? (await startEngine(options))
    const engine = createEngineClient({ address: () => current })
    const how = found === undefined ? origin : 'engine_found'
    const events = engine.events(stopping.signal)[Symbol.asyncIterator]()
    try {
      // The engine greets a subscriber at once; from here on no event is missed.
      await events.next()
      await options.onReady(engine, how)
      ready = current
      attempts = 0
      log.info('engine_ready', { pid: current.pid, origin: how })
      onReady()
      for (let next = await events.next(); next.done !== true; next = await events.next()) options.onEvent(next.value)
    } finally {
      await events.return?.()
    }
  }

  const keep = async (onFirst: () => void): Promise<void> => {
    let origin: SidecarOrigin = 'service_start'
    while (!stopping.signal.aborted) {
      const began = performance.now()
      try {
        await oneLife(origin, onFirst)
      } catch (error) {
        log.error('engine_lost', { error })
      }
      ready = undefined
      if (stopping.signal.aborted) return
      if (performance.now() - began > SOUND_AFTER_MS) attempts = 0
      origin = 'engine_restarted'
      onFirst()
      await sleep(Math.min(MAX_RESTART_DELAY_MS, FIRST_RESTART_DELAY_MS * 2 ** attempts), stopping.signal)
      attempts = Math.min(attempts + 1, 16)
    }
  }

  const first = Promise.withResolvers<void>()
  const kept = keep(first.resolve)
  await first.promise
  return {
    address: () => ready,
    stop: async () => {
      stopping.abort()
      ready = undefined
      if (current !== undefined) await endProcess(current.pid, options.entry)
      await kept
    },
  }
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
    const status = await createEngineClient({ address: () => announced }).status()
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
