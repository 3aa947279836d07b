import { ApiError } from '../errors.ts'
import type { PipelineRepository, SettingsRepository } from '../repositories/repositories.ts'
import { readSettings } from '../settings/settings.ts'

/** One of the triggered pipelines; reserved from the check until the pipeline is stored or has failed. */
interface Slot {
  release(): void
}

export interface TriggerSlots {
  /** SERVICE_UNAVAILABLE `max_ephemeral` when no slot is left. The caller takes at most one slot per id at a time. */
  take(id: string): Promise<Slot>
}

/** Seconds after which a client may try again. */
const RETRY_AFTER_SECONDS = 5

/** Keeps the number of triggered pipelines within `settings.triggers.max_ephemeral`, also while many start at once. */
export const createTriggerSlots = (deps: {
  readonly pipelines: PipelineRepository
  readonly settings: SettingsRepository
}): TriggerSlots => {
  const reserved = new Set<string>()
  let turn: Promise<unknown> = Promise.resolve()

  const takeInTurn = async (id: string): Promise<Slot> => {
    // A pipeline that is stored during the call of `list` may be in neither: count what was reserved before the call too.
    const counted = new Set(reserved)
    const [records, settings] = await Promise.all([deps.pipelines.list(), readSettings(deps.settings)])
    for (const { config } of records) if (config.ephemeral) counted.add(config.id)
    for (const other of reserved) counted.add(other)
    const limit = settings.triggers.max_ephemeral
    if (counted.size >= limit) throw noSlot(limit)
    reserved.add(id)
    return { release: () => void reserved.delete(id) }
  }

  return {
    take: (id) => {
      const taken = turn.then(() => takeInTurn(id))
      turn = taken.catch(() => undefined)
      return taken
    },
  }
}

const noSlot = (limit: number) =>
  new ApiError(
    'SERVICE_UNAVAILABLE',
    `The limit of ${limit} triggered pipelines is reached. End a stream or raise triggers.max_ephemeral in the settings.`,
    {
      reason: 'max_ephemeral',
      max_ephemeral: limit,
      retry_after_seconds: RETRY_AFTER_SECONDS,
    },
  )
