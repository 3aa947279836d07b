import { randomUUID } from 'node:crypto'
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { arch, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { SandboxMode } from '../../lib/configuration/variables.ts'
import { startedByThis } from './leftovers.ts'
import { createPluginRegistry, type PluginRegistry } from './plugin-registry.ts'
import { featureRank, findProgram, openSandbox, type Reach, reachOptions, type Sandbox } from './sandbox.ts'
import { systemCallFilter } from './system-calls.ts'

// The kernel kills a child whose parent dies (prctl(2) PR_SET_PDEATHSIG), so that no child outlives the engine, not even after kill -9.
const LAUNCHER = 'setpriv'
const DIES_WITH_PARENT = ['--pdeathsig', 'KILL', '--'] as const

const TRIAL_MS = 10_000

/** What a program may reach: the host as the service sees it, or a sandbox with this much of it. */
export type Confinement = 'host' | Reach

type Run = (
  file: string,
  args: readonly string[],
  options: {
    readonly timeoutMs: number
    readonly reach: Confinement
    readonly environment?: Readonly<Record<string, string>>
    readonly signal?: AbortSignal
  },
) => Promise<{ readonly exitCode: number | null; readonly stdout: string; readonly stderr: string }>

interface Confined {
  readonly bubblewrap: string
  readonly options: readonly string[]
  readonly hidden: readonly string[]
  readonly registry: PluginRegistry
  /** Descriptors of files without a name: filters of system calls without and with local sockets. */
  readonly filters: readonly [strict: number, localSockets: number] | undefined
}

let confined: Confined | undefined

/**
 * Opens the sandbox for all later children of this process; resolves to whether there is one.
 * `folder`, the data directory, keeps the list of plugins and stays hidden; `run` starts a program; `signal` gives up the list.
 */
export const confineChildren = async (mode: SandboxMode, folder: string, run: Run, signal?: AbortSignal): Promise<Sandbox> => {
  const host = { hidden: [resolve(folder)], environment: process.env }
  // Takes milliseconds. Not to be cancelled: bwrap(1) that is killed while it sets up leaves half of itself behind.
  const sandbox = await openSandbox(mode, host, (file, args) => run(file, args, { timeoutMs: TRIAL_MS, reach: 'host' }))
  for (const filter of confined?.filters ?? []) closeSync(filter)
  confined = undefined
  if (sandbox.state !== 'on') return sandbox
  const registry = createPluginRegistry(join(folder, 'gstreamer-registry.bin'), (file, args, options) =>
    run(file, args, { ...options, reach: 'host', ...(signal && { signal }) }),
  )
  if (signal?.aborted !== true) await registry.refresh()
  confined = { ...sandbox, registry, filters: openFilters(folder) }
  return sandbox
}

/** bwrap(1) reads a filter from a descriptor to its end, so each start opens the file anew, over /proc. */
const openFilters = (folder: string): Confined['filters'] => {
  const [strict, localSockets] = [false, true].map((allowed) => systemCallFilter(arch(), { localSockets: allowed }))
  if (strict === undefined || localSockets === undefined) return undefined
  return [openWithoutName(strict, [folder, ...MEMORY]), openWithoutName(localSockets, [folder, ...MEMORY])]
}

/** For a full disk. Everyone may write there, so the name cannot be guessed. */
const MEMORY = ['/dev/shm', tmpdir()]

/** A file that has no name, in the first folder that takes it. Throws the error of the last one. */
const openWithoutName = (content: Uint8Array, [folder = '', ...others]: readonly string[]): number => {
  const file = join(folder, `system-calls.${randomUUID()}`)
  try {
    writeFileSync(file, content, { mode: 0o600, flag: 'wx' })
    return openSync(file, 'r')
  } catch (error) {
    if (others.length > 0) return openWithoutName(content, others)
    throw error
  } finally {
    rmSync(file, { force: true })
  }
}

/** The command that is started for a program. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  /** bwrap(1) reports a signal that ended its child as an exit code. */
  readonly sandboxed: boolean
  /** A descriptor of this process that the command reads under another number; to be closed after the start. */
  readonly filter?: number
  /** The code of the error, such as EMFILE, when the host lets nothing start. */
  readonly refused?: string
}

/** Descriptors of the command beside its own: `info`, where bwrap(1) writes the program's pid, and `filter`, where it reads. */
interface CommandDescriptors {
  readonly info: number
  readonly filter: number
}

/** The command that runs a program under its confinement. */
export const toCommand = (file: string, args: readonly string[], reach: Confinement, descriptors: CommandDescriptors): Command => {
  const program = findProgram(file, process.env)
  // setpriv reports a missing program with exit codes of its own.
  if (reach === 'host' || confined === undefined || program === undefined) {
    return {
      file: LAUNCHER,
      args: [...DIES_WITH_PARENT, file, ...args],
      environment: { ...childEnvironment(), GST_PLUGIN_FEATURE_RANK: featureRank(process.env, { sandboxed: false }) },
      sandboxed: false,
    }
  }
  const [strict, localSockets] = confined.filters ?? []
  const filter = reach.localSockets === true ? localSockets : strict
  const options = [
    ...confined.options,
    ...confined.registry.options(),
    ...reachOptions(reach, confined.hidden),
    ...['--info-fd', String(descriptors.info)],
    ...(filter === undefined ? [] : ['--seccomp', String(descriptors.filter)]),
    ...Object.entries(startedByThis()).flatMap(([name, value]) => ['--setenv', name, value]),
  ]
  return {
    file: confined.bubblewrap,
    args: [...options, '--', program, ...args],
    environment: childEnvironment(),
    sandboxed: true,
    ...(filter !== undefined && openAnew(filter)),
  }
}

const openAnew = (descriptor: number): Pick<Command, 'filter' | 'refused'> => {
  try {
    return { filter: openSync(`/proc/self/fd/${descriptor}`, 'r') }
  } catch (error) {
    return { refused: (error as NodeJS.ErrnoException).code ?? 'unknown' }
  }
}

/** The engine's environment for GStreamer and its drivers, without the secrets of the service. */
const childEnvironment = (): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && !name.startsWith('npm_'))
  return {
    ...Object.fromEntries(kept),
    LC_ALL: 'C.UTF-8',
    GST_DEBUG_NO_COLOR: '1',
    ...startedByThis(),
  }
}
