import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** One thing that installing or uninstalling does; `path` is as on the host. */
export type Step =
  | { readonly kind: 'directory'; readonly path: string; readonly mode: number }
  /** `keep`: one that is there is left as it is, since it holds secrets or what an operator wrote. */
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly text: () => string; readonly keep: boolean }
  | { readonly kind: 'remove'; readonly path: string }
  | {
      readonly kind: 'run'
      readonly command: readonly [string, ...string[]]
      readonly mayFail?: true
      readonly unless?: readonly [string, ...string[]]
    }

export interface StepOptions {
  /** Another root than /: files are written there and no command is run. */
  readonly root: string
  readonly dryRun: boolean
  /** Replaces files that differ; the old one stays beside it. */
  readonly force: boolean
  readonly say: (line: string) => void
}

/** Files that are there, differ, and may not be replaced; found before anything is changed. */
export const conflicts = (steps: readonly Step[], { root, force }: Pick<StepOptions, 'root' | 'force'>): readonly string[] =>
  steps.flatMap((step) => (step.kind === 'file' && !step.keep && !force && differs(step, join(root, step.path)) ? [step.path] : []))

const differs = (step: Extract<Step, { kind: 'file' }>, place: string): boolean =>
  existsSync(place) && readFileSync(place, 'utf8') !== step.text()

/** Does the steps in order and says what each did; throws when a command fails. */
export const take = (steps: readonly Step[], options: StepOptions): void => {
  for (const step of steps) {
    const done = takeOne(step, options)
    options.say(options.dryRun && !/^(keep|leave|not)\b/.test(done) ? `would ${done}` : done)
  }
}

const takeOne = (step: Step, options: StepOptions): string => {
  if (step.kind === 'run') return runCommand(step, options)
  const place = join(options.root, step.path)
  if (step.kind === 'remove') {
    if (!existsSync(place)) return `leave ${step.path}: not there`
    if (!options.dryRun) rmSync(place, { recursive: true })
    return `remove ${step.path}`
  }
  const mode = step.mode.toString(8).padStart(4, '0')
  if (step.kind === 'directory') {
    if (existsSync(place)) return `keep ${step.path}/: it is there`
    if (!options.dryRun) mkdirSync(place, { recursive: true, mode: step.mode })
    return `create ${step.path}/ (${mode})`
  }
  return writeFile(step, place, mode, options)
}

const writeFile = (step: Extract<Step, { kind: 'file' }>, place: string, mode: string, { dryRun }: StepOptions): string => {
  const there = existsSync(place)
  if (there && step.keep) return `keep ${step.path}: it is there`
  if (there && !differs(step, place)) return `keep ${step.path}: unchanged`
  if (!dryRun) {
    mkdirSync(dirname(place), { recursive: true })
    if (there) renameSync(place, `${place}.previous`)
    writeFileSync(place, step.text(), { mode: step.mode })
    chmodSync(place, step.mode)
  }
  return there ? `replace ${step.path} (${mode}); the old one is ${step.path}.previous` : `write ${step.path} (${mode})`
}

const runCommand = (step: Extract<Step, { kind: 'run' }>, { root, dryRun }: StepOptions): string => {
  const line = step.command.join(' ')
  if (root !== '/') return `not run in another root: ${line}`
  if (step.unless !== undefined && succeeds(step.unless)) return `not run: ${line} (done already)`
  if (dryRun) return `run: ${line}`
  const [program, ...args] = step.command
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status === 0) return `run: ${line}`
  const trouble = `${line} failed: ${(stderr ?? '').trim() || `exit code ${status ?? 'none'}`}`
  if (step.mayFail !== true) throw new Error(trouble)
  return `run: ${trouble}`
}

const succeeds = ([program, ...args]: readonly [string, ...string[]]): boolean => spawnSync(program, args, { stdio: 'ignore' }).status === 0
