import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEngineCaller, type EngineAddress } from '../../../lib/engine/caller.ts'
import { readGreeting } from '../../../lib/engine/handshake.ts'
import { pause } from '../../../lib/pause.ts'
import { type EngineLink, keepLink, type LinkOptions } from './keep-link.ts'

const START_PATIENCE_MS = 10_000
const STOP_PATIENCE_MS = 15_000

export interface SidecarOptions extends LinkOptions {
  /** The bundled engine. */
  readonly entry: string
  readonly dataDir: string
  readonly version: string
  readonly environment: NodeJS.ProcessEnv
}

/** Links the engine that an earlier API process left, or starts one, and starts another when it is gone. */
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

/** The engine that an earlier API process left, if it answers and is of our version; ends any other. */
const findRunning = async ({ dataDir, version, entry, log }: SidecarOptions): Promise<Announced | undefined> => {
  const announced = readAnnounced(dataDir)
  if (announced === undefined || !isEngine(announced.pid, entry)) return undefined
  try {
    const greeting = await readGreeting(createEngineCaller({ address: () => announced }))
    if (greeting.pid === announced.pid && greeting.version === version) return announced
    log.warn('engine_of_another_version', { found: greeting.version, wanted: version })
    await endProcess(announced.pid, entry)
  } catch (error) {
    log.warn('engine_does_not_answer', { pid: announced.pid, error })
    await endProcess(announced.pid, entry, ['SIGKILL'])
  }
  return undefined
}

/** Starts an engine that outlives this process: detached, with only the log shared. */
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
const endProcess = async (pid: number, entry: string, signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGKILL']): Promise<void> => {
  for (const signal of signals) {
    if (!isEngine(pid, entry)) return
    try {
      process.kill(pid, signal)
    } catch {
      return
    }
    const patience = performance.now() + STOP_PATIENCE_MS
    while (isEngine(pid, entry) && performance.now() < patience) await pause(20)
  }
}
