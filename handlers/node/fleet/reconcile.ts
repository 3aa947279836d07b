import { messageOf } from '../../../lib/errors.ts'
import type { Drift } from '../../../lib/fleet/actual.ts'
import type { Log } from '../../../lib/ports.ts'
import { redact } from '../../../lib/redact.ts'
import { type Client, etagOf } from '../../client/client.ts'
import { applyPlan } from '../../declared/apply.ts'
import { type Declaration, readDeclaration } from '../../declared/declaration.ts'
import { DeclarationError } from '../../declared/declaration-error.ts'
import { makePlan, type Plan, type SettingsStep, type Step } from '../../declared/plan.ts'

/** A document as it is stored for this host. */
export interface Document {
  readonly revision: number
  readonly text: string
}

/** What became of a document. */
export interface Outcome {
  /** All of it holds now. */
  readonly isApplied: boolean
  /** The same document may succeed later. */
  readonly mayPass: boolean
  readonly error: string | null
  /** What a document with `create-only` leaves as it is. */
  readonly drift: readonly Drift[]
  /** How many pipelines were changed. */
  readonly changed: number
}

interface Options {
  readonly client: Client
  readonly log: Log
  readonly signal: AbortSignal
  /** The document was applied before: what differs has been changed here since. Called before it is changed back. */
  readonly onDrift: ((drift: readonly Drift[]) => Promise<void>) | undefined
  /** ETag of the settings after they were applied, so that passwords are not set again and again. */
  readonly settingsEtag: string | undefined
}

const NAME = 'document'
/** Characters of an error that is reported. */
const MAX_ERROR = 2000

/** Makes pipelines and settings what the document declares, and removes all others. Throws what a lost engine or database throws. */
export const reconcile = async ({ text }: Document, options: Options): Promise<Outcome & { readonly settingsEtag: string | undefined }> => {
  const { client, log, signal, onDrift, settingsEtag } = options
  const declaration = readDeclared(text)
  if ('error' in declaration) return { ...refused(declaration.error), settingsEtag }
  const plan = await planFor(declaration, options)
  if ('error' in plan) return { ...refused(plan.error), settingsEtag }
  const found = driftOf(plan)
  if (onDrift !== undefined && found.length > 0) await onDrift([...found, ...leftOf(plan)])
  try {
    const { done, failed } = await applyPlan(client, plan, declaration, {
      signal,
      onStep: ({ id, kind }, fault) => {
        if (fault === undefined) log.info('fleet_pipeline_changed', { id, change: kind })
        else log.warn('fleet_pipeline_failed', { id, change: kind, error: redact(fault.message) })
      },
    })
    const error = failed.length === 0 ? null : shortened(failed.map(({ id, failure }) => `${id}: ${failure.message}`).join('\n'))
    const settings = declaration.settings === undefined ? undefined : etagOf(await client.getSettings({ signal }))
    const isApplied = failed.length === 0 && !signal.aborted
    return { isApplied, mayPass: !isApplied, error, drift: leftOf(plan), changed: done.length, settingsEtag: settings }
  } catch (error) {
    return { ...refused(shortened(messageOf(error))), mayPass: true, settingsEtag }
  }
}

const refused = (error: string): Outcome => ({ isApplied: false, mayPass: false, error, drift: [], changed: 0 })

const readDeclared = (text: string): Declaration | { readonly error: string } => {
  try {
    return readDeclaration(text, NAME)
  } catch (error) {
    if (error instanceof DeclarationError) return { error: shortened(error.message) }
    throw error
  }
}

const planFor = async (declaration: Declaration, { client, signal, settingsEtag }: Options): Promise<Plan | { readonly error: string }> => {
  try {
    const plan = await makePlan(client, declaration, { prune: true, signal })
    return { ...plan, settings: unlessSet(plan.settings, settingsEtag) }
  } catch (error) {
    if (error instanceof DeclarationError) return { error: shortened(error.message) }
    throw error
  }
}

/** Passwords are never shown: only a new ETag says that somebody has set another. */
const unlessSet = (step: SettingsStep | undefined, etag: string | undefined): SettingsStep | undefined =>
  step !== undefined && step.changes.length === 0 && step.etag === etag ? undefined : step

const KINDS = { create: 'missing', change: 'changed', delete: 'extra', play: 'stopped', stop: 'started' } as const satisfies Readonly<
  Record<Step['kind'], Drift['kind']>
>

const driftOf = ({ steps, settings }: Pick<Plan, 'steps' | 'settings'>): readonly Drift[] => [
  ...(settings === undefined ? [] : [{ id: null, kind: 'settings' as const, fields: settingsFields(settings) }]),
  ...steps.map(({ id, kind, changes }) => ({ id, kind: KINDS[kind], fields: kind === 'change' ? changes.map(({ field }) => field) : [] })),
]

const settingsFields = ({ changes, setAgain }: SettingsStep): readonly string[] =>
  changes.length > 0 ? changes.map(({ field }) => field) : setAgain

const leftOf = ({ left, settingsLeft }: Plan): readonly Drift[] =>
  driftOf({ steps: left, settings: settingsLeft !== undefined && settingsLeft.changes.length > 0 ? settingsLeft : undefined })

const shortened = (text: string): string => {
  const shown = redact(text)
  return shown.length > MAX_ERROR ? `${shown.slice(0, MAX_ERROR)}…` : shown
}
