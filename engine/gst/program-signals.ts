import type { Readable } from 'node:stream'
import { within } from '../../lib/pause.ts'

/** bwrap(1) writes the pid of its program at once, unless the host hangs. */
const PID_WITHIN_MS = 5000
/** How long a sandbox may take to end after its program. */
const SANDBOX_END_MS = 500

/** Signals to a program that was started: into its sandbox, where it has one. */
export interface ProgramSignals {
  /** The program's pid on the host, as soon as it is known; undefined when it did not start. */
  readonly pid: Promise<number | undefined>
  send(signal: NodeJS.Signals): void
}

/** A process that was started; `pid` is undefined when it could not be. */
export interface Started {
  readonly pid?: number | undefined
  kill(signal: NodeJS.Signals): boolean
}

/** `info`: where bwrap(1) writes about its sandbox; undefined for a program without one. `ended` resolves when the command has ended. */
export const createSignals = (started: Started, info: Readable | undefined, ended: Promise<unknown>): ProgramSignals => {
  if (info === undefined) return { pid: Promise.resolve(started.pid), send: (signal) => void started.kill(signal) }
  const pid = readPid(info, ended)
  let over = false
  void ended.then(() => {
    over = true
  })
  // Another process may have its pid afterwards.
  return { pid, send: (signal) => void (over || sendInside(signal, started, pid, ended)) }
}

/**
 * Signals the program itself: bwrap(1) ends after its program. When bwrap is killed during set-up, its second process, which becomes
 * the program, stays: nothing ends it, and it keeps the pipes open.
 */
const sendInside = async (
  signal: NodeJS.Signals,
  started: Started,
  pid: Promise<number | undefined>,
  ended: Promise<unknown>,
): Promise<void> => {
  const inner = await within(pid, PID_WITHIN_MS)
  if (inner !== undefined) signalTo(inner, signal)
  else if (signal !== 'SIGKILL') started.kill(signal)
  if (signal !== 'SIGKILL') return
  // bwrap ends after its program, unless it hangs.
  if (inner !== undefined) await within(ended, SANDBOX_END_MS)
  started.kill('SIGKILL')
}

/** bwrap(1) writes `{ "child-pid": 123, … }` when the program is about to start. */
const readPid = (info: Readable, ended: Promise<unknown>): Promise<number | undefined> => {
  const found = Promise.withResolvers<number | undefined>()
  let text = ''
  info.setEncoding('utf8').on('data', (part: string) => {
    text += part
    const pid = /"child-pid"\s*:\s*(\d+)/.exec(text)?.[1]
    if (pid !== undefined) found.resolve(Number(pid))
  })
  info.on('error', () => found.resolve(undefined))
  void ended.then(() => found.resolve(undefined))
  return found.promise
}

/** Does nothing when the program has ended. */
const signalTo = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
