import { isRecord } from '../../lib/json/is-record.ts'
import { MASK } from '../../lib/redact.ts'
import { isAtRest } from '../../lib/schema/pipeline.ts'
import { ApiError, type Client, etagOf, type Pipeline, type PipelineRequest, type Settings, type SettingsChange } from '../client/client.ts'
import { type Change, type Configured, changesBetween, configuredOf, masked, unknownMasks, withoutDefaults } from './configured.ts'
import type { Declaration, DeclaredPipeline } from './declaration.ts'
import { DeclarationError } from './declaration-error.ts'
import { inTurns } from './in-turns.ts'

/** What is done with one pipeline, in this order. */
export interface Step {
  readonly id: string
  readonly kind: 'create' | 'change' | 'delete' | 'play' | 'stop'
  readonly changes: readonly Change[]
  /** undefined: it is deleted. */
  readonly declared?: DeclaredPipeline
  /** The body of create or replace; undefined: the configuration stays. */
  readonly body?: PipelineRequest
  /** The geolocation alone differs, which may change while the pipeline plays. */
  readonly locateOnly: boolean
  /** It runs now, so it is stopped before it is replaced or deleted. */
  readonly isRunning: boolean
  readonly plays: boolean
}

interface SettingsStep {
  readonly change: SettingsChange
  readonly changes: readonly Change[]
  /** Passwords that are set again: the service shows none, so only its ETag tells afterwards whether they were others. */
  readonly setAgain: readonly string[]
  readonly etag: string | undefined
}

export interface Plan {
  readonly settings: SettingsStep | undefined
  readonly steps: readonly Step[]
  readonly unchanged: number
}

interface PlanOptions {
  /** Whether to delete what the declaration does not have, except pipelines of triggers. */
  readonly prune: boolean
  readonly signal?: AbortSignal | undefined
}

/** Checks of the engine at one time. */
const AT_ONCE = 4

/**
 * What has to be done until the service is as declared. Changes nothing. Throws DeclarationError when a masked credential
 * stands for nothing, or a pipeline belongs to a trigger.
 */
export const makePlan = async (client: Client, declaration: Declaration, { prune, signal }: PlanOptions): Promise<Plan> => {
  const [pipelines, settings] = await Promise.all([
    client.listPipelines({ signal }),
    declaration.settings === undefined ? undefined : client.getSettings({ signal }),
  ])
  const present = new Map(pipelines.map((pipeline) => [pipeline.id, pipeline]))
  const mistakes = [
    ...declaration.pipelines.flatMap((declared) => mistakesOf(declared, present.get(declared.id))),
    ...settingsMistakes(declaration, settings),
  ]
  if (mistakes.length > 0) throw new DeclarationError(mistakes)
  const steps = await inTurns(declaration.pipelines, AT_ONCE, (declared) => stepOf(client, declared, present.get(declared.id), signal))
  const needed = steps.filter((step) => step !== undefined)
  const kept = new Set(declaration.pipelines.map(({ id }) => id))
  const extra = prune ? pipelines.filter(({ id, ephemeral }) => !kept.has(id) && !ephemeral) : []
  return {
    settings: settingsStep(declaration.settings, settings),
    // What is deleted first leaves its port to others.
    steps: [...extra.map(deletion), ...needed],
    unchanged: steps.length - needed.length,
  }
}

const mistakesOf = ({ id, config, place }: DeclaredPipeline, present: Pipeline | undefined): readonly string[] => {
  if (present?.ephemeral === true) return [`${place('id')}: id: ${id} is the pipeline of a trigger. Use another id.`]
  const stored = present === undefined ? undefined : configuredOf(present)
  return unknownMasks(config, stored).map((field) => `${place(field)}: ${field}: ${valueNeeded(id)}`)
}

const valueNeeded = (what: string): string => `*** keeps what is stored, and nothing like it is stored for ${what}. Write the value itself.`

const settingsMistakes = ({ settings, settingsPlace }: Declaration, stored: Settings | undefined): readonly string[] =>
  unknownMasks(settings ?? {}, stored).map((field) => `${settingsPlace(field)}: settings.${field}: ${valueNeeded('the settings')}`)

const settingsStep = (change: SettingsChange | undefined, stored: Settings | undefined): Plan['settings'] => {
  if (change === undefined || stored === undefined) return undefined
  const found = changesBetween(stored, overlaid(stored, change))
  const isSetAgain = ({ from, to }: Change): boolean => from === MASK && to !== null
  const changes = found.filter((one) => !isSetAgain(one))
  const setAgain = found.filter(isSetAgain).map(({ field }) => field)
  return found.length === 0 ? undefined : { change, changes, setAgain, etag: etagOf(stored) }
}

const overlaid = (stored: Settings, change: SettingsChange): object => {
  const merge = (before: unknown, after: unknown): unknown =>
    isRecord(before) && isRecord(after)
      ? { ...before, ...Object.fromEntries(Object.entries(after).map(([name, value]) => [name, merge(before[name], value)])) }
      : after
  return merge(stored, change) as object
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
  signal: AbortSignal | undefined,
): Promise<Step | undefined> => {
  const { id, config } = declared
  if (present === undefined) {
    const plays = (declared.state ?? (config.on_demand ? 'ready' : 'playing')) === 'playing'
    return {
      id,
      kind: 'create',
      declared,
      changes: newFields(config),
      body: bodyOf(config),
      locateOnly: false,
      isRunning: false,
      plays,
    }
  }
  const wanted = kept(config, present)
  const changes = await changesOf(client, wanted, present, signal)
  const wasPlaying = present.runtime.desired === 'playing'
  const plays = declared.state === undefined ? wasPlaying || !config.on_demand : declared.state === 'playing'
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

/** What is worth showing of a new pipeline. */
const newFields = (config: Configured): readonly Change[] =>
  changesBetween({}, withoutDefaults(config)).filter(({ field }) => field !== 'id')

const bodyOf = (config: Configured): PipelineRequest => config as unknown as PipelineRequest

/** What a declaration leaves to the service stays as it is: the address of the output, and a geolocation that comes from KLV. */
const kept = (config: Configured, { output, geolocation }: Pipeline): Configured => {
  const { klv_config } = config as { readonly klv_config?: { readonly auto_extract_geolocation?: boolean } }
  return {
    ...config,
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
  // The service never shows credentials, but says whether they are those that are stored.
  const { unchanged } = await client.validatePipeline({ body: bodyOf(wanted), signal }).catch(unknownWhenRefused)
  return unchanged === true ? [] : secrets.map(({ field }) => ({ field, from: '***', to: '***' }))
}

/** A pipeline that the service refuses is taken for changed, so that its step fails and no other. */
const unknownWhenRefused = (error: unknown): { readonly unchanged?: undefined } => {
  if (error instanceof ApiError && REFUSALS.has(error.code)) return {}
  throw error
}

/** The description is wrong, names an element that is missing, or may not run here. */
const REFUSALS: ReadonlySet<string> = new Set(['VALIDATION_ERROR', 'ENGINE_ERROR', 'FORBIDDEN'])
