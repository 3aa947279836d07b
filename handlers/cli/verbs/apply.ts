import { printable, printableJson } from '../../../lib/log/printable.ts'
import { type Applied, applyPlan, type StepFailure } from '../../declared/apply.ts'
import { type Change, changesBetween, masked, withoutDefaults } from '../../declared/configured.ts'
import { makePlan, type Plan, type Step } from '../../declared/plan.ts'
import { EXIT, errorFields, exitCodeOf, explain } from '../command-line/exit.ts'
import type { Run, Session } from '../command-line/session.ts'
import { Progress } from '../terminal/progress.ts'
import { readInput } from './input.ts'

/** Applies the pipelines and settings of a file; prints the changes first. */
export const apply: Run = async (session) => {
  const { client, given, signal, out, isJson } = session
  const declaration = readInput(session)
  const plan = await makePlan(client, declaration, { prune: given.has('prune'), signal })
  if (!isJson) for (const line of linesOf(plan, session)) out.print(line)
  if (given.has('dry-run'))
    return report(session, plan, { settingsChanged: (plan.settings?.changes.length ?? 0) > 0, done: [], failed: [] })
  const progress = new Progress(out, process.stdout)
  try {
    const applied = await applyPlan(client, plan, declaration, {
      signal,
      wait: given.has('wait'),
      onAction: (id, action) => progress.show(id, action),
      onStep: (step, failure) => {
        progress.hide(step.id)
        if (!isJson) printStep(session, progress, step, failure)
      },
    })
    return report(session, plan, applied)
  } finally {
    progress.close()
  }
}

const SIGNS = { create: '+', change: '~', delete: '-', play: '▶', stop: '■' } as const satisfies Readonly<Record<Step['kind'], string>>
const COLORS = { create: 'green', change: 'yellow', delete: 'red', play: 'green', stop: 'yellow' } as const

/** The changes, one field per line. */
const linesOf = ({ settings, steps }: Plan, { out }: Session): readonly string[] => [
  ...(settings === undefined
    ? []
    : [
        `${out.paint.yellow('~')} ${out.paint.bold('settings')}`,
        ...settings.changes.map((change) => changeLine(change, out, true)),
        ...settings.setAgain.map((field) => `    ${out.paint.dim(`${field}: is set again; the service does not show it`)}`),
      ]),
  ...steps.flatMap((step) => [
    `${out.paint[COLORS[step.kind]](SIGNS[step.kind])} ${out.paint.bold(printable(step.id))}${noteOf(step, out)}`,
    ...(step.kind === 'create' ? newFields(step) : step.changes).map((change) => changeLine(change, out, step.kind !== 'create')),
  ]),
]

/** The fields of a new pipeline, without defaults. */
const newFields = ({ declared }: Step): readonly Change[] =>
  declared === undefined ? [] : changesBetween({}, withoutDefaults(declared.config)).filter(({ field }) => field !== 'id')

const noteOf = ({ kind, isRunning, locateOnly, plays }: Step, { paint }: Session['out']): string => {
  if (kind === 'play' || kind === 'stop') return ` ${paint.dim(`(${kind})`)}`
  return isRunning && !locateOnly ? ` ${paint.dim(plays ? '(is stopped and started again)' : '(is stopped)')}` : ''
}

const changeLine = ({ field, from, to }: Change, { paint }: Session['out'], withFrom: boolean): string => {
  const name = field.split('.').at(-1) ?? ''
  const title = paint.dim(`${printable(field)}:`)
  const [before, after] = [from, to].map((value) => shown(masked(value, name)))
  if (before === after) return `    ${title} ${paint.dim('other credentials')}`
  return `    ${title} ${withFrom ? `${before} ${paint.dim('→')} ` : ''}${after}`
}

const shown = (value: unknown): string => (value === undefined ? '–' : typeof value === 'string' ? printable(value) : printableJson(value))

const DONE = { create: 'created', change: 'changed', delete: 'deleted', play: 'started', stop: 'stopped' } as const

const printStep = ({ out, url }: Session, progress: Progress, step: Step, failure: StepFailure | undefined): void => {
  const id = printable(step.id)
  if (failure === undefined) {
    if (out.isInteractive) progress.print(`${out.paint.green('✓')} ${out.paint.bold(id)} ${out.paint.dim(DONE[step.kind])}`)
  } else if (out.isInteractive) progress.print(`${out.paint.red('✗')} ${out.paint.bold(id)}  ${printable(textOf(failure, url))}`)
  else process.stderr.write(`${id}  ${printable(textOf(failure, url))}\n`)
}

/** With the place in the file, or as every command explains it. */
const textOf = ({ error, message }: StepFailure, url: URL): string =>
  error instanceof Error && error.message !== message ? message : explain(error, url)

const report = (session: Session, plan: Plan, { settingsChanged, done, failed }: Applied): number => {
  const { given, isJson, out, url } = session
  const isDryRun = given.has('dry-run')
  const counted = isDryRun ? plan.steps : done
  const of = (kinds: readonly Step['kind'][]): readonly string[] => counted.filter(({ kind }) => kinds.includes(kind)).map(({ id }) => id)
  const result = {
    created: of(['create']),
    changed: of(['change', 'play', 'stop']),
    deleted: of(['delete']),
    unchanged: plan.unchanged,
    settings_changed: settingsChanged,
    failed: failed.map(({ id, failure }) => ({ id, ...errorFields(failure.error, url), message: failure.message })),
  }
  if (isJson) out.print(printableJson(result, 2))
  else out.print(summary(result, isDryRun, out))
  const [first] = failed
  if (session.signal.aborted) return EXIT.failed
  return first === undefined ? EXIT.done : exitCodeOf(first.failure.error)
}

interface Result {
  readonly created: readonly string[]
  readonly changed: readonly string[]
  readonly deleted: readonly string[]
  readonly unchanged: number
  readonly settings_changed: boolean
  readonly failed: readonly unknown[]
}

const summary = (
  { created, changed, deleted, unchanged, settings_changed, failed }: Result,
  isDryRun: boolean,
  { paint }: Session['out'],
): string => {
  const parts = [
    created.length > 0 && `${created.length} created`,
    changed.length > 0 && `${changed.length} changed`,
    deleted.length > 0 && `${deleted.length} deleted`,
    settings_changed && 'settings changed',
    `${unchanged} unchanged`,
    failed.length > 0 && paint.red(`${failed.length} failed`),
  ].filter((part) => part !== false)
  return `${isDryRun ? 'Would be: ' : ''}${parts.join(', ')}`
}
