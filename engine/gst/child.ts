import { closeSync } from 'node:fs'
import { constants } from 'node:os'
import { PassThrough, Readable, type Writable } from 'node:stream'
import { execa } from 'execa'
import { type Command, type Confinement, toCommand } from '../sandbox/confinement.ts'
import { eraseArguments } from '../sandbox/erase-arguments.ts'
import { endFirstWithoutMemory } from '../sandbox/memory-score.ts'
import { createSignals, type ProgramSignals, type Started } from './program-signals.ts'
import { stopAfterError } from './stop-child.ts'

/** The end of a child. Exactly one of `exitCode` and `signal` is set, unless it never ran. */
export interface Ended {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** The program does not exist or cannot be executed. */
  readonly missing: boolean
  /** The host did not let the program start: the code of the error, such as EMFILE, or the complaint of bwrap(1). */
  readonly refused?: string
}

/** The end of a program and its output. */
export interface Finished<Output = string> extends Ended {
  readonly stdout: Output
  readonly stderr: string
  readonly timedOut: boolean
}

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]))

const neverStarted = (refused: string): Ended => ({ exitCode: null, signal: null, missing: false, refused })

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
  const neverRan = exitCode === null && (result.signal ?? undefined) === undefined && !missing
  if (neverRan && result.code !== undefined) return neverStarted(result.code)
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
  const command = toCommand(file, args, reach, { info: 3, filter: 4 })
  if (command.refused !== undefined) return { ...neverStarted(command.refused), stdout: Buffer.alloc(0), stderr: '', timedOut: false }
  const subprocess = execa(command.file, command.args, {
    reject: false,
    encoding: 'buffer',
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', ...infoOf(command), ...filterOf(command)],
    ...(input !== undefined && { input }),
    ...(command.sandboxed && { buffer: { fd3: false } }),
    cleanup: false,
    killSignal: 'SIGKILL',
    maxBuffer: maxOutputBytes,
    extendEnv: false,
    env: { ...command.environment, ...environment },
  })
  closeFilter(command)
  const ended = subprocess.then((result) => toEnded(result, command))
  const kill = follow(subprocess, command, 3, ended).send
  const killNow = (): void => kill('SIGKILL')
  stopAfterError({ stderr: subprocess.stderr, ended, kill }, killNow)
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    killNow()
  }, timeoutMs)
  signal?.addEventListener('abort', killNow)
  if (signal?.aborted === true) killNow()
  const { stdout, stderr } = await subprocess
  clearTimeout(timer)
  signal?.removeEventListener('abort', killNow)
  const text = toBuffer(stderr).toString('utf8')
  return { ...withSandbox(await ended, command, text), stdout: toBuffer(stdout), stderr: text, timedOut }
}

/** bwrap(1) that cannot set up a sandbox, such as without a free process, prints the cause and exits with 1; programs exit with 1 too. */
const withSandbox = (ended: Ended, { sandboxed }: Command, stderr: string): Ended => {
  const refused = sandboxed && ended.exitCode === 1 ? /^bwrap: .*$/m.exec(stderr)?.[0] : undefined
  return refused === undefined ? ended : { ...ended, refused }
}

/** Programs that have not ended yet. */
const running = new Map<ProgramSignals, Promise<Ended>>()

/** Kills all programs that were started here; resolves when they are reaped. */
export const killAll = async (): Promise<void> => {
  for (const signals of running.keys()) signals.send('SIGKILL')
  await Promise.all(running.values())
}

const follow = (
  subprocess: Started & { readonly stdio: readonly unknown[] },
  { sandboxed }: Command,
  info: number,
  ended: Promise<Ended>,
): ProgramSignals => {
  const signals = createSignals(subprocess, sandboxed ? (subprocess.stdio[info] as Readable) : undefined, ended)
  running.set(signals, ended)
  void signals.pid.then((pid) => pid !== undefined && endFirstWithoutMemory(pid))
  void ended.then(() => running.delete(signals))
  return signals
}

/** A pipe on which bwrap(1) writes the pid of the program. */
const infoOf = ({ sandboxed }: Command): readonly 'pipe'[] => (sandboxed ? ['pipe'] : [])

/** The types of execa end with descriptor 9. */
const filterOf = ({ filter }: Command): readonly 9[] => (filter === undefined ? [] : [filter as 9])

/** The started program has a descriptor of its own. */
const closeFilter = ({ filter }: Command): void => {
  if (filter !== undefined) closeSync(filter)
}

const toBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBufferLike> = new Uint8Array()): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

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

interface ChildOptions {
  readonly mediaPipes: number
  readonly reach: Confinement
  readonly input?: boolean
}

/** A child that never ran, so that nothing comes out of its pipes, and nothing is taken. */
const childNotStarted = (ended: Ended, { mediaPipes, input }: ChildOptions): Child => ({
  pid: Promise.resolve(undefined),
  stdin: input === true ? new PassThrough().resume() : undefined,
  stdout: Readable.from([]),
  stderr: Readable.from([]),
  media: Array.from({ length: mediaPipes }, () => Readable.from([])),
  ended: Promise.resolve(ended),
  kill: () => {},
  eraseArguments: () => Promise.resolve(true),
})

/** Starts a long-lived program with `mediaPipes` pipes at fd 3 and up, and with `input` one that it reads at fd 0. Never fails: a missing program shows in `ended`. */
export const startChild = (file: string, args: readonly string[], options: ChildOptions): Child => {
  const info = 3 + options.mediaPipes
  const command = toCommand(file, args, options.reach, { info, filter: info + 1 })
  if (command.refused !== undefined) return childNotStarted(neverStarted(command.refused), options)
  const subprocess = execa(command.file, command.args, {
    reject: false,
    buffer: false,
    cleanup: false,
    stdio: [
      options.input === true ? 'pipe' : 'ignore',
      'pipe',
      'pipe',
      ...Array.from({ length: options.mediaPipes }, () => 'pipe' as const),
      ...infoOf(command),
      ...filterOf(command),
    ],
    extendEnv: false,
    env: command.environment,
  })
  closeFilter(command)
  const [stdin, stdout, stderr, ...streams] = subprocess.stdio as [Writable | null, Readable, Readable, ...Readable[]]
  const ended = subprocess.then((result) => toEnded(result, command))
  const { pid, send } = follow(subprocess, command, info, ended)
  return {
    pid,
    stdin: stdin ?? undefined,
    stdout,
    stderr,
    media: streams.slice(0, options.mediaPipes),
    ended,
    kill: send,
    eraseArguments: async () => {
      const pids = new Set([await pid, subprocess.pid])
      return [...pids].every((each) => each === undefined || eraseArguments(each))
    },
  }
}
