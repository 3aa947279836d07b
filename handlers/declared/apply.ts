import { ApiError, type Client, etagOf } from '../client/client.ts'
import type { Declaration } from './declaration.ts'
import { inTurns } from './in-turns.ts'
import type { Plan, Step } from './plan.ts'

export interface ApplyOptions {
  /** Starts a pipeline; by default it is waited for until it plays. */
  readonly play?: ((id: string) => Promise<void>) | undefined
  /** Called before each part of a step, such as `starting`. */
  readonly onAction?: ((id: string, action: string) => void) | undefined
  /** Called when a step is done or has failed. */
  readonly onStep?: ((step: Step, fault: Fault | undefined) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Why a step failed. */
export interface Fault {
  readonly error: unknown
  /** With its place in the file when the service names a field. */
  readonly message: string
}

export interface Applied {
  /** They are others than before. */
  readonly settingsChanged: boolean
  readonly done: readonly Step[]
  readonly failed: readonly { readonly id: string; readonly fault: Fault }[]
}

/** Starts at one time: each is a process. */
const AT_ONCE = 4

/**
 * Does what the plan says. A step that fails does not prevent the others, and what was done stays done: a run that is cut off
 * is completed by the next one. Throws when the settings are refused.
 */
export const applyPlan = async (client: Client, plan: Plan, declaration: Declaration, options: ApplyOptions = {}): Promise<Applied> => {
  const { signal } = options
  const settings =
    plan.settings &&
    (await client.changeSettings({ body: plan.settings.change, signal }).catch((error: unknown) => {
      throw faultOf(error, declaration.settingsPlace)
    }))
  const settingsChanged = settings !== undefined && etagOf(settings) !== plan.settings?.etag
  const done: Step[] = []
  const failed: { id: string; fault: Fault }[] = []
  const run = async (step: Step): Promise<void> => {
    if (signal?.aborted === true) return
    try {
      await RUN[step.kind](client, step, options)
      done.push(step)
      options.onStep?.(step, undefined)
    } catch (error) {
      const { message } = faultOf(error, step.declared?.place)
      failed.push({ id: step.id, fault: { error, message } })
      options.onStep?.(step, { error, message })
    }
  }
  const [deletions, others] = [plan.steps.filter(isDeletion), plan.steps.filter((step) => !isDeletion(step))]
  for (const steps of [deletions, others]) await inTurns(steps, AT_ONCE, run)
  return { settingsChanged, done, failed }
}

const isDeletion = ({ kind }: Step): boolean => kind === 'delete'

type RunStep = (client: Client, step: Step, options: ApplyOptions) => Promise<void>

const stopIfRunning: RunStep = async (client, { id, isRunning }, { onAction, signal }) => {
  if (!isRunning) return
  onAction?.(id, 'stopping')
  await client.stopPipeline({ id, signal })
}

const playIfWanted: RunStep = async (client, { id, plays }, { play, onAction, signal }) => {
  if (!plays) return
  onAction?.(id, 'starting')
  if (play === undefined) await client.playPipeline({ id, signal })
  else await play(id)
}

const RUN: Readonly<Record<Step['kind'], RunStep>> = {
  create: async (client, step, options) => {
    const { body, plays } = step
    const { onAction, play, signal } = options
    if (body === undefined) return
    onAction?.(step.id, plays ? 'starting' : 'creating')
    // A create starts what is not on-demand and stores nothing when that fails.
    if (body.on_demand === true || (plays && play === undefined)) await client.createPipeline({ body, signal })
    else {
      await client.createPipeline({ body: { ...body, on_demand: true }, signal })
      await client.replacePipeline({ id: step.id, body, signal })
    }
    if (body.on_demand === true || play !== undefined) await playIfWanted(client, step, options)
  },
  change: async (client, step, options) => {
    const { id, body } = step
    const { onAction, signal } = options
    if (body === undefined) return
    if (step.locateOnly) {
      await client.patchPipeline({ id, body: { geolocation: body.geolocation ?? null }, signal })
      return
    }
    // What the service refuses must not stop what runs.
    if (step.isRunning) await client.validatePipeline({ body, signal })
    await stopIfRunning(client, step, options)
    onAction?.(id, 'replacing')
    await client.replacePipeline({ id, body, signal })
    await playIfWanted(client, step, options)
  },
  delete: async (client, step, options) => {
    await stopIfRunning(client, step, options)
    options.onAction?.(step.id, 'deleting')
    await client.deletePipeline({ id: step.id, signal: options.signal })
  },
  play: playIfWanted,
  stop: stopIfRunning,
}

/** The error of the service, at the place of the field that it names. */
const faultOf = (error: unknown, place: ((field: string) => string) | undefined): Error => {
  const [issue] =
    error instanceof ApiError && Array.isArray(error.details.issues)
      ? (error.details.issues as readonly { path: string; message: string }[])
      : []
  const message = error instanceof Error ? error.message : String(error)
  return new Error(issue === undefined || place === undefined ? message : `${place(issue.path)}: ${issue.path}: ${issue.message}`, {
    cause: error,
  })
}
