import type { Readable } from 'node:stream'
import { execa } from 'execa'

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

// GST_PLUGIN_FEATURE_RANK: hlsdemux2 of GStreamer 1.22 may reach the end of a short playlist before parsebin has linked its
// pads, and fails or hangs; the older hlsdemux does not. The rank has no effect where hlsdemux is not installed.
const PREFERRED_ELEMENTS = 'hlsdemux:MAX'

/** Nothing of the engine's environment but what GStreamer and its drivers read; in no case our own secrets. */
const childEnvironment = (): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && !name.startsWith('npm_'))
  const ranks = [PREFERRED_ELEMENTS, process.env.GST_PLUGIN_FEATURE_RANK].filter((rank) => rank !== undefined && rank !== '')
  return { ...Object.fromEntries(kept), LC_ALL: 'C.UTF-8', GST_DEBUG_NO_COLOR: '1', GST_PLUGIN_FEATURE_RANK: ranks.join(',') }
}

const toEnded = (result: { exitCode?: number | undefined; signal?: string | undefined; code?: string | undefined }): Ended => ({
  // setpriv exits 127 when the program it should run is not there, 126 when it may not be run.
  exitCode: result.exitCode ?? null,
  signal: (result.signal as NodeJS.Signals | undefined) ?? null,
  missing: result.code === 'ENOENT' || result.exitCode === 127 || result.exitCode === 126,
})

/** Runs a short program to its end; its output is cut at `maxOutputBytes` and it is killed at `timeoutMs` or when the signal aborts. */
export const runToEnd = async (
  file: string,
  args: readonly string[],
  options: { readonly timeoutMs: number; readonly maxOutputBytes?: number; readonly signal?: AbortSignal },
): Promise<Finished> => {
  const result = await execa(LAUNCHER, [...DIES_WITH_PARENT, file, ...args], {
    reject: false,
    stdin: 'ignore',
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: options.maxOutputBytes ?? 1024 * 1024,
    extendEnv: false,
    env: childEnvironment(),
    ...(options.signal && { cancelSignal: options.signal }),
  })
  return { ...toEnded(result), stdout: result.stdout ?? '', stderr: result.stderr ?? '', timedOut: result.timedOut }
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
  options: { readonly input: Buffer; readonly timeoutMs: number; readonly maxOutputBytes: number; readonly signal?: AbortSignal },
): Promise<Filtered> => {
  const result = await execa(LAUNCHER, [...DIES_WITH_PARENT, file, ...args], {
    reject: false,
    input: options.input,
    encoding: 'buffer',
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: options.maxOutputBytes,
    extendEnv: false,
    env: childEnvironment(),
    ...(options.signal && { cancelSignal: options.signal }),
  })
  const { buffer, byteOffset, byteLength } = result.stdout ?? new Uint8Array()
  const stderr = Buffer.from(result.stderr ?? new Uint8Array()).toString('utf8')
  return { ...toEnded(result), output: Buffer.from(buffer, byteOffset, byteLength), stderr, timedOut: result.timedOut }
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

/** Starts a long-lived program with `mediaPipes` pipes at fd 3 and up. It never rejects: a program that is missing is an end. */
export const startChild = (file: string, args: readonly string[], options: { readonly mediaPipes: number }): Child => {
  const subprocess = execa(LAUNCHER, [...DIES_WITH_PARENT, file, ...args], {
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
