import { MASK } from '../../lib/redact.ts'
import { isAtRest } from '../../lib/schema/pipeline.ts'
import type { PartialSettings } from '../../lib/schema/settings.ts'
import { mergePartial } from '../../lib/settings/merge.ts'
import { ApiError, type Client, etagOf, type Pipeline, type PipelineRequest, type Settings, type SettingsChange } from '../client/client.ts'
import { type Change, type Configured, changesBetween, configuredOf, masked, unknownMasks } from './configured.ts'
import type { Declaration, DeclaredPipeline } from './declaration.ts'
import { DeclarationError } from './declaration-error.ts'
import { mapConcurrent } from './map-concurrent.ts'

/** What is done with one pipeline. */
export interface Step {
  readonly id: string
  readonly kind: 'create' | 'change' | 'delete' | 'play' | 'stop'
  /** Of a stored configuration that is replaced. */
  readonly changes: readonly Change[]
  /** undefined when it is deleted. */
  readonly declared?: DeclaredPipeline
  /** The body of create or replace; undefined when the configuration stays. */
  readonly body?: PipelineRequest
  /** Only the geolocation differs, which can change while the pipeline plays. */
  readonly locateOnly: boolean
  /** It is running, so it is stopped before it is replaced or deleted. */
  readonly isRunning: boolean
  readonly plays: boolean
}

export interface SettingsStep {
  readonly change: SettingsChange
  readonly changes: readonly Change[]
  /** Passwords, which are always set again: only the ETag of the answer shows whether they differed. */
  readonly setAgain: readonly string[]
  readonly etag: string | undefined
}

export interface Plan {
  readonly settings: SettingsStep | undefined
  readonly steps: readonly Step[]
  readonly unchanged: number
  /** Steps that a declaration with `create-only` leaves undone. */
  readonly left: readonly Step[]
  readonly settingsLeft: SettingsStep | undefined
  /** What is left out; empty unless `atStart`. */
  readonly mistakes: readonly string[]
}

interface PlanOptions {
  /** Delete pipelines that are not declared, except those of triggers. */
  readonly prune: boolean
  /** At the start of the service: what was stopped stays stopped unless its state is declared, and a mistake prevents nothing else. */
  readonly atStart?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * The steps that make the service match the declaration. Changes nothing. Throws DeclarationError for a mask without stored
 * credentials, and for a pipeline of a trigger, unless `atStart`.
 */
export const makePlan = async (client: Client, declaration: Declaration, options: PlanOptions): Promise<Plan> => {
  const { prune, atStart = false, signal } = options
  const [pipelines, settings] = await Promise.all([
    client.listPipelines({ signal }),
    declaration.settings === undefined ? undefined : client.getSettings({ signal }),
  ])
  const present = new Map(pipelines.map((pipeline) => [pipeline.id, pipeline]))
  const inSettings = settingsMistakes(declaration, settings)
  const inPipelines = new Map(declaration.pipelines.map((declared) => [declared, mistakesOf(declared, present.get(declared.id))]))
  const mistakes = [...[...inPipelines.values()].flat(), ...inSettings]
  if (mistakes.length > 0 && !atStart) throw new DeclarationError(mistakes)
  const right = declaration.pipelines.filter((declared) => inPipelines.get(declared)?.length === 0)
  const steps = await mapConcurrent(right, (declared) => stepOf(client, declared, present.get(declared.id), options))
  const needed = steps.filter((step) => step !== undefined)
  const kept = new Set(declaration.pipelines.map(({ id }) => id))
  const extra = prune ? pipelines.filter(({ id, ephemeral }) => !kept.has(id) && !ephemeral) : []
  const inSettingsStep = inSettings.length > 0 ? undefined : settingsStep(declaration.settings, settings)
  // Deletions first: they free ports.
  const all = [...extra.map(deletion), ...needed]
  const isDone = ({ kind }: Step): boolean => declaration.manage === 'full' || kind === 'create'
  return {
    ...(declaration.manage === 'full'
      ? { settings: inSettingsStep, settingsLeft: undefined }
      : { settings: undefined, settingsLeft: inSettingsStep }),
    steps: all.filter(isDone),
    unchanged: steps.length - needed.length,
    left: all.filter((step) => !isDone(step)),
    mistakes,
  }
}

const mistakesOf = ({ id, config, place }: DeclaredPipeline, present: Pipeline | undefined): readonly string[] => {
  if (present?.ephemeral === true) return [`${place('id')}: id: ${id} is the pipeline of a trigger. Use another id.`]
  const stored = present === undefined ? undefined : configuredOf(present)
  return unknownMasks(config, stored).map((field) => `${place(field)}: ${field}: ${valueNeeded(id)}`)
}

const valueNeeded = (what: string): string => `*** keeps the stored value, but none is stored for ${what}. Write the value itself.`

const settingsMistakes = ({ settings, settingsPlace }: Declaration, stored: Settings | undefined): readonly string[] =>
  unknownMasks(settings ?? {}, stored).map((field) => `${settingsPlace(field)}: settings.${field}: ${valueNeeded('the settings')}`)

const settingsStep = (change: SettingsChange | undefined, stored: Settings | undefined): Plan['settings'] => {
  if (change === undefined || stored === undefined) return undefined
  const after = mergePartial(stored, change as PartialSettings)
  const found = changesBetween(stored, after)
  const changes = changesBetween(stored, masked(after))
  const shown = new Set(changes.map(({ field }) => field))
  const setAgain = found.filter(({ field }) => !shown.has(field)).map(({ field }) => field)
  return found.length === 0 ? undefined : { change, changes, setAgain, etag: etagOf(stored) }
}

const deletion = (present: Pipeline): Step => ({
  id: present.id,
  kind: 'delete',
  changes: [],
  locateOnly: false,
  isRunning: runs(present),
  plays: false,
})

const runs = ({ state, runtime }: Pipeline): boolean => state === 'playing' || runtime.desired === 'playing' || !isAtRest({ runtime })

const stepOf = async (
  client: Client,
  declared: DeclaredPipeline,
  present: Pipeline | undefined,
  { atStart = false, signal }: PlanOptions,
): Promise<Step | undefined> => {
  const { id, config } = declared
  if (present === undefined) {
    const plays = (declared.state ?? (config.on_demand ? 'ready' : 'playing')) === 'playing'
    return {
      id,
      kind: 'create',
      declared,
      changes: [],
      body: bodyOf(config),
      locateOnly: false,
      isRunning: false,
      plays,
    }
  }
  const wanted = kept(config, present)
  const changes = await changesOf(client, wanted, present, signal)
  const wasPlaying = present.runtime.desired === 'playing'
  // The service itself has started all that is not on-demand and was not stopped.
  const isStarted = !config.on_demand && (present.on_demand || !atStart)
  const plays = declared.state === undefined ? wasPlaying || isStarted : declared.state === 'playing'
  const common = { id, declared, changes, isRunning: runs(present), plays }
  if (changes.length > 0)
    return { ...common, kind: 'change', body: bodyOf(wanted), locateOnly: changes.every(({ field }) => /^geolocation\b/.test(field)) }
  const isStopped = declared.state === 'ready' && runs(present)
  return plays && !wasPlaying
    ? { ...common, kind: 'play', locateOnly: false }
    : isStopped
      ? { ...common, kind: 'stop', locateOnly: false }
      : undefined
}

const bodyOf = (config: Configured): PipelineRequest => config as unknown as PipelineRequest

/** The address of the output, what becomes of the sound, and a geolocation from KLV stay as they are unless they are declared. */
const kept = (config: Configured, { output, geolocation, audio }: Pipeline): Configured => {
  const { klv_config } = config as { readonly klv_config?: { readonly auto_extract_geolocation?: boolean } }
  return {
    ...config,
    ...(config.audio === undefined && { audio }),
    ...(config.output === undefined && output !== undefined && { output }),
    ...(klv_config?.auto_extract_geolocation === true && { geolocation }),
  }
}

const changesOf = async (
  client: Client,
  wanted: Configured,
  present: Pipeline,
  signal: AbortSignal | undefined,
): Promise<readonly Change[]> => {
  const stored = configuredOf(present)
  const shown = masked(wanted)
  const changes = changesBetween(stored, shown)
  const secrets = changesBetween(shown, wanted)
  if (changes.length > 0 || secrets.length === 0) return changes
  // The service never shows credentials, but answers whether they equal the stored ones.
  const { unchanged } = await client.validatePipeline({ body: bodyOf(wanted), signal }).catch(unknownWhenRefused)
  return unchanged === true ? [] : secrets.map(({ field }) => ({ field, from: MASK, to: MASK }))
}

/** A refused pipeline counts as changed, so that only its step fails. */
const unknownWhenRefused = (error: unknown): { readonly unchanged?: undefined } => {
  if (error instanceof ApiError && REFUSALS.has(error.code)) return {}
  throw error
}

/** Errors of the description: wrong, with a missing element, or not allowed here. */
const REFUSALS: ReadonlySet<string> = new Set(['VALIDATION_ERROR', 'ENGINE_ERROR', 'FORBIDDEN'])
