import type { Readable } from 'node:stream'
import { execa } from 'execa'

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

// The kernel kills a child whose parent dies (prctl(2) PR_SET_PDEATHSIG), so that no child outlives the engine, not even after kill -9.
const LAUNCHER = ['setpriv', '--pdeathsig', 'KILL', '--'] as const

// GST_PLUGIN_FEATURE_RANK: hlsdemux2 of GStreamer 1.22 may reach the end of a short playlist before parsebin has linked its
// pads, and fails or hangs; the older hlsdemux does not. The rank has no effect where hlsdemux is not installed.
const PREFERRED_ELEMENTS = 'hlsdemux:MAX'

/** The engine's environment for GStreamer and its drivers, without the secrets of the service. */
const childEnvironment = (): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && !name.startsWith('npm_'))
  const ranks = [PREFERRED_ELEMENTS, process.env.GST_PLUGIN_FEATURE_RANK].filter((rank) => rank !== undefined && rank !== '')
  return { ...Object.fromEntries(kept), LC_ALL: 'C.UTF-8', GST_DEBUG_NO_COLOR: '1', GST_PLUGIN_FEATURE_RANK: ranks.join(',') }
}

const toEnded = (result: { exitCode?: number | undefined; signal?: string | undefined; code?: string | undefined }): Ended => ({
  // setpriv exits with 127 when the program does not exist, with 126 when it cannot be executed.
  exitCode: result.exitCode ?? null,
  signal: (result.signal as NodeJS.Signals | undefined) ?? null,
  missing: result.code === 'ENOENT' || result.exitCode === 127 || result.exitCode === 126,
})

interface RunOptions {
  /** Longer, and the program is killed. */
  readonly timeoutMs: number
  /** Output beyond this is cut off. */
  readonly maxOutputBytes?: number
  /** Kills the program. */
  readonly signal?: AbortSignal
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
  { timeoutMs, maxOutputBytes = 1024 * 1024, signal, input }: RunOptions & { readonly input?: Buffer },
): Promise<Finished<Buffer>> => {
  const [launcher, ...launcherArgs] = LAUNCHER
  const result = await execa(launcher, [...launcherArgs, file, ...args], {
    reject: false,
    encoding: 'buffer',
    ...(input === undefined ? { stdin: 'ignore' as const } : { input }),
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: maxOutputBytes,
    extendEnv: false,
    env: childEnvironment(),
    ...(signal && { cancelSignal: signal }),
  })
  return {
    ...toEnded(result),
    stdout: toBuffer(result.stdout),
    stderr: toBuffer(result.stderr).toString('utf8'),
    timedOut: result.timedOut,
  }
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
  readonly pid: number | undefined
  readonly stdout: Readable
  readonly stderr: Readable
  /** The media pipes in order: fd 3, fd 4 … */
  readonly media: readonly Readable[]
  readonly ended: Promise<Ended>
  kill(signal: NodeJS.Signals): void
}

/** Starts a long-lived program with `mediaPipes` pipes at fd 3 and up. Never fails: a missing program shows in `ended`. */
export const startChild = (file: string, args: readonly string[], options: { readonly mediaPipes: number }): Child => {
  const [launcher, ...launcherArgs] = LAUNCHER
  const subprocess = execa(launcher, [...launcherArgs, file, ...args], {
    reject: false,
    buffer: false,
    cleanup: false,
    stdio: ['ignore', 'pipe', 'pipe', ...Array.from({ length: options.mediaPipes }, () => 'pipe' as const)],
    extendEnv: false,
    env: childEnvironment(),
  })
  const [, stdout, stderr, ...media] = subprocess.stdio as [null, Readable, Readable, ...Readable[]]
  return {
    pid: subprocess.pid,
    stdout,
    stderr,
    media,
    ended: subprocess.then(toEnded),
    kill: (signal) => {
      subprocess.kill(signal)
    },
  }
}
