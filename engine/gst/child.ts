import { constants } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { execa } from 'execa'
import { eraseArguments } from './erase-arguments.ts'
import { createPluginRegistry, type PluginRegistry } from './registry.ts'
import { findProgram, openSandbox, type Reach, reachOptions, type Sandbox } from './sandbox.ts'

/** How a child ended. Exactly one of `exitCode` and `signal` is set, unless it never ran. */
export interface Ended {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** The program does not exist or may not be run. */
  readonly missing: boolean
}

export interface Finished extends Ended {
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
}

// A child must not outlive the engine, not even after kill -9: the kernel sends it SIGKILL when its parent dies (prctl(2) PR_SET_PDEATHSIG).
const DIES_WITH_PARENT = ['--pdeathsig', 'KILL', '--'] as const
const LAUNCHER = 'setpriv'

/** What a program may reach: the host as the service sees it, or a sandbox with this much of it. */
export type Confinement = 'host' | Reach

interface Confined {
  readonly bubblewrap: string
  readonly options: readonly string[]
  readonly registry: PluginRegistry
}

let confined: Confined | undefined

/**
 * Opens the sandbox for all children of this process that are started from now on; the answer says whether there is one.
 * `folder` keeps the list of plugins.
 */
export const confineChildren = async (mode: 'auto' | 'required' | 'off', folder: string): Promise<Sandbox> => {
  const host = { hidden: [folder], environment: process.env }
  const sandbox = await openSandbox(mode, host, (file, args) => runToEnd(file, args, { timeoutMs: 10_000, reach: 'host' }))
  if (sandbox.state !== 'on') {
    confined = undefined
    return sandbox
  }
  const registry = createPluginRegistry(join(folder, 'gstreamer-registry.bin'), (file, args, options) =>
    runToEnd(file, args, { ...options, reach: 'host' }),
  )
  await registry.refresh()
  confined = { ...sandbox, registry }
  return sandbox
}

interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  /** bwrap(1) reports a signal that ended its child as an exit code. */
  readonly sandboxed: boolean
}

/** The command that runs a program under its confinement; `infoFd`: where bwrap(1) writes the program's pid. */
const toCommand = (file: string, args: readonly string[], reach: Confinement, infoFd?: number): Command => {
  const program = findProgram(file, process.env)
  // A program that is missing is reported by setpriv in a way that can be told from its own end.
  if (reach === 'host' || confined === undefined || program === undefined) {
    return { file: LAUNCHER, args: [...DIES_WITH_PARENT, file, ...args], environment: childEnvironment(), sandboxed: false }
  }
  const info = infoFd === undefined ? [] : ['--info-fd', String(infoFd)]
  const options = [...confined.options, ...confined.registry.options(), ...reachOptions(reach), ...info]
  return { file: confined.bubblewrap, args: [...options, '--', program, ...args], environment: {}, sandboxed: true }
}

/** Nothing of the engine's environment but what GStreamer and its drivers read; in no case our own secrets. */
const childEnvironment = (): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && !name.startsWith('npm_'))
  return { ...Object.fromEntries(kept), LC_ALL: 'C.UTF-8', GST_DEBUG_NO_COLOR: '1' }
}

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]))

const toEnded = (
  result: { exitCode?: number | undefined; signal?: string | undefined; code?: string | undefined },
  { sandboxed }: Command,
): Ended => {
  const exitCode = result.exitCode ?? null
  // As shells do, bwrap exits with 128 and the number of the signal that ended its child.
  const inner = sandboxed && exitCode !== null ? SIGNAL_NAMES.get(exitCode - 128) : undefined
  if (inner !== undefined) return { exitCode: null, signal: inner, missing: false }
  // setpriv exits 127 when the program it should run is not there, 126 when it may not be run.
  const missing = result.code === 'ENOENT' || (!sandboxed && (exitCode === 127 || exitCode === 126))
  return { exitCode, signal: (result.signal as NodeJS.Signals | undefined) ?? null, missing }
}

/** Runs a short program to its end; its output is cut at `maxOutputBytes` and it is killed at `timeoutMs` or when the signal aborts. */
export const runToEnd = async (
  file: string,
  args: readonly string[],
  options: {
    readonly timeoutMs: number
    readonly reach: Confinement
    readonly maxOutputBytes?: number
    readonly signal?: AbortSignal
    /** Variables beside the usual ones; outside of a sandbox only. */
    readonly environment?: Readonly<Record<string, string>>
  },
): Promise<Finished> => {
  const command = toCommand(file, args, options.reach)
  const result = await execa(command.file, command.args, {
    reject: false,
    stdin: 'ignore',
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: options.maxOutputBytes ?? 1024 * 1024,
    extendEnv: false,
    env: { ...command.environment, ...options.environment },
    ...(options.signal && { cancelSignal: options.signal }),
  })
  return { ...toEnded(result, command), stdout: result.stdout ?? '', stderr: result.stderr ?? '', timedOut: result.timedOut }
}

export interface Filtered extends Ended {
  readonly output: Buffer
  readonly stderr: string
  readonly timedOut: boolean
}

/** Runs a short program that reads all of `input` and answers the bytes it wrote; bounds as of `runToEnd`. */
export const runFilter = async (
  file: string,
  args: readonly string[],
  options: {
    readonly input: Buffer
    readonly timeoutMs: number
    readonly maxOutputBytes: number
    readonly reach: Confinement
    readonly signal?: AbortSignal
  },
): Promise<Filtered> => {
  const command = toCommand(file, args, options.reach)
  const result = await execa(command.file, command.args, {
    reject: false,
    input: options.input,
    encoding: 'buffer',
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: options.maxOutputBytes,
    extendEnv: false,
    env: command.environment,
    ...(options.signal && { cancelSignal: options.signal }),
  })
  const { buffer, byteOffset, byteLength } = result.stdout ?? new Uint8Array()
  const stderr = Buffer.from(result.stderr ?? new Uint8Array()).toString('utf8')
  return { ...toEnded(result, command), output: Buffer.from(buffer, byteOffset, byteLength), stderr, timedOut: result.timedOut }
}

export interface Child {
  /** The program's pid on the host, as soon as it is known; undefined when it did not start. */
  readonly pid: Promise<number | undefined>
  readonly stdout: Readable
  readonly stderr: Readable
  /** The media pipes in order: fd 3, fd 4 … */
  readonly media: readonly Readable[]
  readonly ended: Promise<Ended>
  kill(signal: NodeJS.Signals): void
  /** Blanks the arguments in the list of processes, once the program has read them; false where the kernel does not allow it. */
  eraseArguments(): Promise<boolean>
}

/** Starts a long-lived program with `mediaPipes` pipes at fd 3 and up. It never rejects: a program that is missing is an end. */
export const startChild = (
  file: string,
  args: readonly string[],
  options: { readonly mediaPipes: number; readonly reach: Confinement },
): Child => {
  const infoFd = 3 + options.mediaPipes
  const command = toCommand(file, args, options.reach, infoFd)
  const pipes = options.mediaPipes + (command.sandboxed ? 1 : 0)
  const subprocess = execa(command.file, command.args, {
    reject: false,
    buffer: false,
    cleanup: false,
    stdio: ['ignore', 'pipe', 'pipe', ...Array.from({ length: pipes }, () => 'pipe' as const)],
    extendEnv: false,
    env: command.environment,
  })
  const [, stdout, stderr, ...streams] = subprocess.stdio as [null, Readable, Readable, ...Readable[]]
  const ended = subprocess.then((result) => toEnded(result, command))
  const pid = command.sandboxed ? readPid(streams.at(-1), ended) : Promise.resolve(subprocess.pid)
  return {
    pid,
    stdout,
    stderr,
    media: streams.slice(0, options.mediaPipes),
    ended,
    kill: (signal) => {
      // To the program itself: when the first process of a sandbox ends, the kernel ends all others in it before that is reported.
      if (!command.sandboxed) subprocess.kill(signal)
      else void pid.then((inner) => (inner === undefined ? subprocess.kill(signal) : sendSignal(inner, signal)))
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
