import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { runToEnd, startChild } from '../../../engine/gst/child.ts'
import { within } from '../../../lib/pause.ts'
import { processes } from './processes.ts'

/** A program that is killed ends within this time, or never. */
const PATIENCE_MS = 5000

/** Waits to the microsecond, for moments inside of one start. */
const spin = (ms: number): Promise<void> => {
  const end = performance.now() + ms
  return new Promise((resolve) => {
    const look = (): unknown => (performance.now() < end ? setImmediate(look) : resolve())
    look()
  })
}

/** An argument of `sleep` by which its processes are found; it would sleep for days. */
export const markedSleep = (): string => `1${process.pid}${Math.floor(Math.random() * 1e6)}`

/** Processes with this argument, whether still bwrap(1) or already the program. */
export const marked = (argument: string): readonly number[] => runningWith(argument, /^\S*(?:bwrap|sleep|setpriv) /)

/** Those of them that have become the program. */
export const asleep = (argument: string): readonly number[] => runningWith(argument, /^\S*sleep /)

const runningWith = (argument: string, program: RegExp): readonly number[] =>
  processes()
    .filter(({ command }) => program.test(command) && command.endsWith(` ${argument}`))
    .map(({ pid }) => pid)

/** Starts a sandboxed program and kills it after so many milliseconds, in each of our ways. Answers whether it ended. */
export const KILLS: Readonly<Record<string, (argument: string, afterMs: number) => Promise<boolean>>> = {
  'cancelled by its signal': async (argument, afterMs) => {
    const cancel = new AbortController()
    const result = runToEnd('sleep', [argument], { timeoutMs: 60_000, reach: {}, signal: cancel.signal })
    await spin(afterMs)
    cancel.abort()
    return (await within(result, PATIENCE_MS)) !== undefined
  },
  'at its time limit': async (argument, afterMs) =>
    (await within(runToEnd('sleep', [argument], { timeoutMs: afterMs, reach: {} }), PATIENCE_MS + afterMs)) !== undefined,
  'by SIGKILL, the last step of a stop': async (argument, afterMs) => {
    const child = startChild('sleep', [argument], { mediaPipes: 1, reach: {} })
    await spin(afterMs)
    child.kill('SIGKILL')
    return (await within(child.ended, PATIENCE_MS)) !== undefined
  },
}

/** Starts a process that starts sandboxed programs all the time, and kills it with SIGKILL so many milliseconds later. */
export const killStarter = async (folder: string, argument: string, afterMs: number): Promise<void> => {
  const starter = spawn(process.execPath, [join(import.meta.dirname, 'starts-children.ts'), folder, argument], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(starter, 'exit')
  const [said] = (await Promise.race([once(starter.stdout, 'data'), exited])) as [unknown]
  if (String(said) !== 'ready\n') throw new Error(`the starter said ${said}`)
  await spin(afterMs)
  starter.kill('SIGKILL')
  await exited
}
