import { join } from 'node:path'
import type { SandboxMode } from '../../lib/configuration.ts'
import { createPluginRegistry, type PluginRegistry } from './registry.ts'
import { findProgram, openSandbox, type Reach, reachOptions, type Sandbox } from './sandbox.ts'

// The kernel kills a child whose parent dies (prctl(2) PR_SET_PDEATHSIG), so that no child outlives the engine, not even after kill -9.
const LAUNCHER = 'setpriv'
const DIES_WITH_PARENT = ['--pdeathsig', 'KILL', '--'] as const

const TRIAL_MS = 10_000

/** What a program may reach: the host as the service sees it, or a sandbox with this much of it. */
export type Confinement = 'host' | Reach

type Run = (
  file: string,
  args: readonly string[],
  options: { readonly timeoutMs: number; readonly reach: Confinement; readonly environment?: Readonly<Record<string, string>> },
) => Promise<{ readonly exitCode: number | null; readonly stdout: string; readonly stderr: string }>

interface Confined {
  readonly bubblewrap: string
  readonly options: readonly string[]
  readonly registry: PluginRegistry
}

let confined: Confined | undefined

/**
 * Opens the sandbox for all children of this process that are started from now on; the answer says whether there is one.
 * `folder`, the data directory, keeps the list of plugins and stays hidden; `run` starts a program.
 */
export const confineChildren = async (mode: SandboxMode, folder: string, run: Run): Promise<Sandbox> => {
  const host = { hidden: [folder], environment: process.env }
  const sandbox = await openSandbox(mode, host, (file, args) => run(file, args, { timeoutMs: TRIAL_MS, reach: 'host' }))
  if (sandbox.state !== 'on') {
    confined = undefined
    return sandbox
  }
  const registry = createPluginRegistry(join(folder, 'gstreamer-registry.bin'), (file, args, options) =>
    run(file, args, { ...options, reach: 'host' }),
  )
  await registry.refresh()
  confined = { ...sandbox, registry }
  return sandbox
}

/** What is really started. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  /** bwrap(1) reports a signal that ended its child as an exit code. */
  readonly sandboxed: boolean
}

/** The command that runs a program under its confinement; `infoFd`: where bwrap(1) writes the program's pid. */
export const toCommand = (file: string, args: readonly string[], reach: Confinement, infoFd?: number): Command => {
  const program = findProgram(file, process.env)
  // A program that is missing is reported by setpriv in a way that can be told from its own end.
  if (reach === 'host' || confined === undefined || program === undefined) {
    return { file: LAUNCHER, args: [...DIES_WITH_PARENT, file, ...args], environment: childEnvironment(), sandboxed: false }
  }
  const info = infoFd === undefined ? [] : ['--info-fd', String(infoFd)]
  const options = [...confined.options, ...confined.registry.options(), ...reachOptions(reach), ...info]
  return { file: confined.bubblewrap, args: [...options, '--', program, ...args], environment: {}, sandboxed: true }
}

/** The engine's environment for GStreamer and its drivers, without the secrets of the service. */
const childEnvironment = (): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && !name.startsWith('npm_'))
  return { ...Object.fromEntries(kept), LC_ALL: 'C.UTF-8', GST_DEBUG_NO_COLOR: '1' }
}
