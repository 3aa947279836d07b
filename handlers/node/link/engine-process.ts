import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { EngineAddress } from '../../../lib/engine/caller.ts'
import { readProcessStart } from '../../../lib/engine/process-start.ts'
import { pause } from '../../../lib/pause.ts'

/** A process; `started` distinguishes it from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number
  readonly started: string
}

/** What a running engine has written into the data directory. */
export interface Announced extends EngineAddress {
  readonly pid: number
  readonly version: string
  /** Undefined in the file of an earlier version. */
  readonly started: string | undefined
}

const addressFile = (dataDir: string): string => join(dataDir, 'engine.json')

export const readAnnounced = (dataDir: string): Announced | undefined => {
  try {
    return parseAnnounced(readFileSync(addressFile(dataDir), 'utf8'))
  } catch {
    return undefined
  }
}

/** Undefined for a text that is something else. */
export const parseAnnounced = (text: string): Announced | undefined => {
  try {
    const value = JSON.parse(text) as Partial<Announced>
    const { url, token, pid, version, started } = value
    if (typeof url !== 'string' || typeof token !== 'string' || typeof pid !== 'number' || typeof version !== 'string') return undefined
    return { url, token, pid, version, started: typeof started === 'string' ? started : undefined }
  } catch {
    return undefined
  }
}

/** The process that has this pid now; undefined when there is none, or only a zombie. */
export const identify = (pid: number): ProcessIdentity | undefined => {
  try {
    const started = readProcessStart(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'), readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return started === undefined ? undefined : { pid, started }
  } catch {
    return undefined
  }
}

export const isAlive = ({ pid, started }: ProcessIdentity): boolean => identify(pid)?.started === started

/** A signal that ends an engine, and the time until the next one, milliseconds. */
export interface EndStep {
  readonly signal: NodeJS.Signals
  readonly graceMs: number
}

const LOOK_EVERY_MS = 20

/** Sends the signals, one after the other, until the process is gone. */
export const endProcess = async (identity: ProcessIdentity, steps: readonly EndStep[]): Promise<void> => {
  for (const { signal, graceMs } of steps) {
    if (!isAlive(identity)) return
    try {
      process.kill(identity.pid, signal)
    } catch {
      return
    }
    await untilGone(identity, graceMs)
  }
}

/** SIGKILL, without waiting. */
export const killProcess = (identity: ProcessIdentity): void => {
  if (isAlive(identity)) process.kill(identity.pid, 'SIGKILL')
}

/** Whether the process has ended within the time. */
export const untilGone = async (identity: ProcessIdentity, ms: number): Promise<boolean> => {
  const patience = performance.now() + ms
  while (isAlive(identity) && performance.now() < patience) await pause(LOOK_EVERY_MS)
  return !isAlive(identity)
}

/** Removes what an engine that was killed has left in the data directory. Answers the error when it cannot, as on a disk that has become read-only. */
export const removeAddress = (dataDir: string, { pid }: ProcessIdentity): unknown => {
  try {
    rmSync(`${addressFile(dataDir)}.${pid}`, { force: true })
    if (readAnnounced(dataDir)?.pid === pid) rmSync(addressFile(dataDir), { force: true })
    return undefined
  } catch (error) {
    return error
  }
}
