import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** One step of install or uninstall; `path` is absolute on the host. */
export type Step =
  | { readonly kind: 'directory'; readonly path: string; readonly mode: number }
  /** `keep`: an existing file is not replaced, since it contains secrets or changes of the operator. */
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly text: () => string; readonly keep: boolean }
  | { readonly kind: 'remove'; readonly path: string }
  | {
      readonly kind: 'run'
      readonly command: readonly [string, ...string[]]
      readonly mayFail?: true
      readonly unless?: readonly [string, ...string[]]
    }

interface StepOptions {
  /** With another root than / files are written there and no command runs. */
  readonly root: string
  readonly dryRun: boolean
  /** Replaces files that differ and keeps the old ones as .previous. */
  readonly force: boolean
  readonly print: (line: string) => void
}

/** Existing files that differ and may not be replaced; to be checked before the first step. */
export const conflicts = (steps: readonly Step[], { root, force }: Pick<StepOptions, 'root' | 'force'>): readonly string[] =>
  steps.flatMap((step) => (step.kind === 'file' && !step.keep && !force && differs(step, join(root, step.path)) ? [step.path] : []))

const differs = (step: Extract<Step, { kind: 'file' }>, target: string): boolean =>
  existsSync(target) && readFileSync(target, 'utf8') !== step.text()

/** Runs the steps in order and prints what each did; throws when a command fails, or a file cannot be written. */
export const runSteps = (steps: readonly Step[], options: StepOptions): void => {
  for (const step of steps) {
    const line = runStep(step, options)
    options.print(options.dryRun && !/^(keep|not)\b/.test(line) ? `would ${line}` : line)
    // Files that are kept contain secrets.
    if (options.dryRun && step.kind === 'file' && !step.keep) options.print(step.text().replace(/^(?=.)/gm, '    '))
  }
}

const runStep = (step: Step, options: StepOptions): string => {
  if (step.kind === 'run') return runCommand(step, options)
  const target = join(options.root, step.path)
  if (step.kind === 'remove') {
    if (!existsSync(target)) return `not removed: ${step.path} does not exist`
    if (!options.dryRun) rmSync(target, { recursive: true })
    return `remove ${step.path}`
  }
  const mode = step.mode.toString(8).padStart(4, '0')
  if (step.kind === 'directory') {
    if (existsSync(target)) return `keep ${step.path}/: it exists`
    if (!options.dryRun) mkdirSync(target, { recursive: true, mode: step.mode })
    return `create ${step.path}/ (${mode})`
  }
  return writeFile(step, target, mode, options)
}

const writeFile = (step: Extract<Step, { kind: 'file' }>, target: string, mode: string, { dryRun }: StepOptions): string => {
  const exists = existsSync(target)
  if (exists && step.keep) return `keep ${step.path}: it exists`
  if (exists && !differs(step, target)) return `keep ${step.path}: unchanged`
  if (!dryRun) {
    mkdirSync(dirname(target), { recursive: true })
    if (exists) renameSync(target, `${target}.previous`)
    writeFileSync(target, step.text(), { mode: step.mode })
    chmodSync(target, step.mode)
  }
  return exists ? `replace ${step.path} (${mode}); the old file is ${step.path}.previous` : `write ${step.path} (${mode})`
}

const runCommand = (step: Extract<Step, { kind: 'run' }>, { root, dryRun }: StepOptions): string => {
  const line = step.command.join(' ')
  if (root !== '/') return `not run, because of --root: ${line}`
  if (step.unless !== undefined && succeeds(step.unless)) return `not run: ${line} (already done)`
  if (dryRun) return `run: ${line}`
  const [program, ...args] = step.command
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  if (status === 0) return `run: ${line}`
  const reason = error === undefined ? stderr.trim() || `exit code ${status ?? 'none'}` : `${program} cannot be run`
  const failure = `${line} failed: ${reason}`
  if (step.mayFail !== true) throw new Error(failure)
  return `run: ${failure}`
}

const succeeds = ([program, ...args]: readonly [string, ...string[]]): boolean => spawnSync(program, args, { stdio: 'ignore' }).status === 0
