import { closeSync } from 'node:fs'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { execa } from 'execa'
import { type Command, type Confinement, toCommand } from '../sandbox/confinement.ts'
import { eraseArguments } from '../sandbox/erase-arguments.ts'

/** The end of a child. Exactly one of `exitCode` and `signal` is set, unless it never ran. */
export interface Ended {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** The program does not exist or cannot be executed. */
  readonly missing: boolean
}

/** The end of a program and its output. */
export interface Finished<Output = string> extends Ended {
  readonly stdout: Output
  readonly stderr: string
  readonly timedOut: boolean
}

/** How long a sandbox may take to end after its program. */
const SANDBOX_END_MS = 500

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]))

const toEnded = (
  result: { exitCode?: number | undefined; signal?: string | undefined; code?: string | undefined },
  { sandboxed }: Command,
): Ended => {
  const exitCode = result.exitCode ?? null
  // As shells do, bwrap exits with 128 and the number of the signal that ended its child.
  const inner = sandboxed && exitCode !== null ? SIGNAL_NAMES.get(exitCode - 128) : undefined
  if (inner !== undefined) return { exitCode: null, signal: inner, missing: false }
  // setpriv exits with 127 when the program does not exist, with 126 when it cannot be executed.
  const missing = result.code === 'ENOENT' || (!sandboxed && (exitCode === 127 || exitCode === 126))
  return { exitCode, signal: (result.signal as NodeJS.Signals | undefined) ?? null, missing }
}

interface RunOptions {
  readonly reach: Confinement
  /** Longer, and the program is killed. */
  readonly timeoutMs: number
  /** Output beyond this is cut off. */
  readonly maxOutputBytes?: number
  /** Kills the program. */
  readonly signal?: AbortSignal
  /** Variables beside the usual ones; for programs outside of a sandbox. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Runs a program to its end. Never rejects: see `missing`, `timedOut` and `exitCode` of the result. */
export const runToEnd = async (file: string, args: readonly string[], options: RunOptions): Promise<Finished> => {
  const result = await runFilter(file, args, options)
  return { ...result, stdout: result.stdout.toString('utf8') }
}

/** Runs a program to its end, `input` on its stdin, and returns its stdout as bytes. */
export const runFilter = async (
  file: string,
  args: readonly string[],
  { timeoutMs, reach, maxOutputBytes = 1024 * 1024, signal, environment, input }: RunOptions & { readonly input?: Buffer },
): Promise<Finished<Buffer>> => {
  const command = toCommand(file, args, reach, { filter: 3 })
  const running = execa(command.file, command.args, {
    reject: false,
    encoding: 'buffer',
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', ...filterOf(command)],
    ...(input !== undefined && { input }),
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: maxOutputBytes,
    extendEnv: false,
    env: { ...command.environment, ...environment },
    ...(signal && { cancelSignal: signal }),
  })
  closeFilter(command)
  const result = await running
  return {
    ...toEnded(result, command),
    stdout: toBuffer(result.stdout),
    stderr: toBuffer(result.stderr).toString('utf8'),
    timedOut: result.timedOut,
  }
}

/** execa's types know the descriptors up to 9 alone. */
const filterOf = ({ filter }: Command): readonly 9[] => (filter === undefined ? [] : [filter as 9])

/** The started program has a descriptor of its own. */
const closeFilter = ({ filter }: Command): void => {
  if (filter !== undefined) closeSync(filter)
}

const toBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBufferLike> = new Uint8Array()): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/**
 * The result of a program, or undefined after this time: a process that the program started may hang in a driver, outlive it
 * and keep its pipes open.
 */
export const within = async <T>(result: Promise<T>, ms: number): Promise<T | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([result, timeout])
  } finally {
    clearTimeout(timer)
  }
}

export interface Child {
  /** The program's pid on the host, as soon as it is known; undefined when it did not start. */
  readonly pid: Promise<number | undefined>
  /** Only of a child that was started with `input`. */
  readonly stdin: Writable | undefined
  readonly stdout: Readable
  readonly stderr: Readable
  /** The media pipes in order: fd 3, fd 4 … */
  readonly media: readonly Readable[]
  readonly ended: Promise<Ended>
  kill(signal: NodeJS.Signals): void
  /** Blanks the arguments in the list of processes, once the program has read them; false where the kernel does not allow it. */
  eraseArguments(): Promise<boolean>
}

/** Starts a long-lived program with `mediaPipes` pipes at fd 3 and up, and with `input` one that it reads at fd 0. Never fails: a missing program shows in `ended`. */
export const startChild = (
  file: string,
  args: readonly string[],
  options: { readonly mediaPipes: number; readonly reach: Confinement; readonly input?: boolean },
): Child => {
  const info = 3 + options.mediaPipes
  const command = toCommand(file, args, options.reach, { info, filter: info + 1 })
  const pipes = options.mediaPipes + (command.sandboxed ? 1 : 0)
  const subprocess = execa(command.file, command.args, {
    reject: false,
    buffer: false,
    cleanup: false,
    stdio: [
      options.input === true ? 'pipe' : 'ignore',
      'pipe',
      'pipe',
      ...Array.from({ length: pipes }, () => 'pipe' as const),
      ...filterOf(command),
    ],
    extendEnv: false,
    env: command.environment,
  })
  closeFilter(command)
  const [stdin, stdout, stderr, ...streams] = subprocess.stdio as [Writable | null, Readable, Readable, ...Readable[]]
  const ended = subprocess.then((result) => toEnded(result, command))
  const pid = command.sandboxed ? readPid(streams[options.mediaPipes], ended) : Promise.resolve(subprocess.pid)
  return {
    pid,
    stdin: stdin ?? undefined,
    stdout,
    stderr,
    media: streams.slice(0, options.mediaPipes),
    ended,
    kill: (signal) => {
      // To the program itself: when the first process of a sandbox ends, the kernel ends all others in it before that is reported.
      if (!command.sandboxed) subprocess.kill(signal)
      else {
        void pid.then((inner) => {
          if (inner !== undefined) sendSignal(inner, signal)
          // Its sandbox ends by itself then, unless it hangs.
          if (signal === 'SIGKILL') setTimeout(() => subprocess.kill('SIGKILL'), inner === undefined ? 0 : SANDBOX_END_MS).unref()
          else if (inner === undefined) subprocess.kill(signal)
        })
      }
    },
    eraseArguments: async () => {
      const pids = new Set([await pid, subprocess.pid])
      return [...pids].every((each) => each === undefined || eraseArguments(each))
    },
  }
}

/** bwrap(1) writes `{ "child-pid": 123, … }` when the program is about to start. */
const readPid = (info: Readable | undefined, ended: Promise<Ended>): Promise<number | undefined> => {
  const found = Promise.withResolvers<number | undefined>()
  let text = ''
  info?.setEncoding('utf8').on('data', (part: string) => {
    text += part
    const pid = /"child-pid"\s*:\s*(\d+)/.exec(text)?.[1]
    if (pid !== undefined) found.resolve(Number(pid))
  })
  info?.on('error', () => found.resolve(undefined))
  void ended.then(() => found.resolve(undefined))
  return found.promise
}

/** A program that ended meanwhile needs no signal. */
const sendSignal = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
