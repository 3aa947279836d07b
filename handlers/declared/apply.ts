import { messageOf } from '../../lib/errors.ts'
import { issuesOf } from '../client/api-error.ts'
import { type Client, etagOf } from '../client/client.ts'
import type { Declaration } from './declaration.ts'
import { mapConcurrent } from './map-concurrent.ts'
import type { Plan, Step } from './plan.ts'

export interface ApplyOptions {
  /** Whether a start is waited for; by default the service goes on trying. */
  readonly wait?: boolean | undefined
  /** Called before each part of a step, such as `starting`. */
  readonly onAction?: ((id: string, action: string) => void) | undefined
  /** Called when a step is done or has failed. */
  readonly onStep?: ((step: Step, failure: StepFailure | undefined) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Why a step failed. */
export interface StepFailure {
  readonly error: unknown
  /** With the place in the file if the service names a field. */
  readonly message: string
}

export interface Applied {
  readonly settingsChanged: boolean
  readonly done: readonly Step[]
  readonly failed: readonly { readonly id: string; readonly failure: StepFailure }[]
}

/**
 * Executes a plan. A failed step does not prevent the others, and nothing is undone: another run completes an interrupted one.
 * Throws when the settings are refused.
 */
export const applyPlan = async (client: Client, plan: Plan, declaration: Declaration, options: ApplyOptions = {}): Promise<Applied> => {
  const { signal } = options
  const settings =
    plan.settings &&
    (await client.changeSettings({ body: plan.settings.change, signal }).catch((error: unknown) => {
      throw failureOf(error, declaration.settingsPlace)
    }))
  const settingsChanged = settings !== undefined && etagOf(settings) !== plan.settings?.etag
  const done: Step[] = []
  const failed: { id: string; failure: StepFailure }[] = []
  const run = async (step: Step): Promise<void> => {
    if (signal?.aborted === true) return
    try {
      await RUN[step.kind](client, step, options)
      done.push(step)
      options.onStep?.(step, undefined)
    } catch (error) {
      const { message } = failureOf(error, step.declared?.place)
      failed.push({ id: step.id, failure: { error, message } })
      options.onStep?.(step, { error, message })
    }
  }
  const [deletions, others] = [plan.steps.filter(isDeletion), plan.steps.filter((step) => !isDeletion(step))]
  for (const steps of [deletions, others]) await mapConcurrent(steps, run)
  return { settingsChanged, done, failed }
}

const isDeletion = ({ kind }: Step): boolean => kind === 'delete'

type RunStep = (client: Client, step: Step, options: ApplyOptions) => Promise<void>

const stopIfRunning: RunStep = async (client, { id, isRunning }, { onAction, signal }) => {
  if (!isRunning) return
  onAction?.(id, 'stopping')
  await client.stopPipeline({ id, signal })
}

const startOf = ({ wait = false }: ApplyOptions) => (wait ? 'wait' : 'background')

const playIfDeclared: RunStep = async (client, { id, plays }, options) => {
  if (!plays) return
  options.onAction?.(id, 'starting')
  await client.playPipeline({ id, start: startOf(options), signal: options.signal })
}

const RUN: Readonly<Record<Step['kind'], RunStep>> = {
  create: async (client, step, options) => {
    const { id, body, plays } = step
    const { onAction, signal } = options
    if (body === undefined) return
    onAction?.(id, plays ? 'starting' : 'creating')
    const start = startOf(options)
    if (body.on_demand === true || plays) await client.createPipeline({ body, start, signal })
    else {
      // A create starts a pipeline that is not on-demand.
      await client.createPipeline({ body: { ...body, on_demand: true }, signal })
      await client.replacePipeline({ id, body, signal })
      // It stays stopped when the service starts.
      await client.stopPipeline({ id, signal })
    }
    if (body.on_demand === true) await playIfDeclared(client, step, options)
  },
  change: async (client, step, options) => {
    const { id, body } = step
    const { onAction, signal } = options
    if (body === undefined) return
    if (step.locateOnly) {
      await client.patchPipeline({ id, body: { geolocation: body.geolocation ?? null }, signal })
      return
    }
    // A refused configuration must not stop a running pipeline.
    if (step.isRunning) await client.validatePipeline({ body, signal })
    await stopIfRunning(client, step, options)
    onAction?.(id, 'replacing')
    await client.replacePipeline({ id, body, signal })
    await playIfDeclared(client, step, options)
  },
  delete: async (client, step, options) => {
    await stopIfRunning(client, step, options)
    options.onAction?.(step.id, 'deleting')
    await client.deletePipeline({ id: step.id, signal: options.signal })
  },
  play: playIfDeclared,
  stop: stopIfRunning,
}

/** The error of the service, with the place in the file of the field that it names. */
export const failureOf = (error: unknown, place: ((field: string) => string) | undefined): Error => {
  const [issue] = issuesOf(error)
  const message = issue === undefined || place === undefined ? messageOf(error) : `${place(issue.path)}: ${issue.path}: ${issue.message}`
  return new Error(message, { cause: error })
}
