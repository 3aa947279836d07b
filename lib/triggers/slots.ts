import { ApiError } from '../errors.ts'
import type { PipelineRepository, SettingsRepository } from '../repositories.ts'
import { readSettings } from '../settings.ts'

/** A place among the triggered pipelines; held from the check until the pipeline is stored or given up. */
export interface Place {
  release(): void
}

/** Seconds after which a stream that found no place may be tried again. */
const RETRY_AFTER_SECONDS = 5

/** Keeps the number of triggered pipelines within `settings.triggers.max_ephemeral` while many start at once. */
export const createPlaces = (deps: { readonly pipelines: PipelineRepository; readonly settings: SettingsRepository }) => {
  const reserved = new Set<string>()
  let turn: Promise<unknown> = Promise.resolve()

  const takeInTurn = async (id: string): Promise<Place> => {
    // One that gets stored while the list is on its way may be in neither: count those reserved at its beginning too.
    const counted = new Set(reserved)
    const [records, settings] = await Promise.all([deps.pipelines.list(), readSettings(deps.settings)])
    for (const { config } of records) if (config.ephemeral) counted.add(config.id)
    for (const other of reserved) counted.add(other)
    const limit = settings.triggers.max_ephemeral
    if (counted.size >= limit) throw noPlace(limit)
    reserved.add(id)
    return { release: () => void reserved.delete(id) }
  }

  return {
    /** SERVICE_UNAVAILABLE `max_ephemeral` when no place is left. The caller sees to it that an id asks once at a time. */
    take: (id: string): Promise<Place> => {
      const taken = turn.then(() => takeInTurn(id))
      turn = taken.catch(() => undefined)
      return taken
    },
  }
}

const noPlace = (limit: number) =>
  new ApiError(
    'SERVICE_UNAVAILABLE',
    `There are ${limit} triggered pipelines already, as many as settings.triggers.max_ephemeral allows.`,
    {
      reason: 'max_ephemeral',
      max_ephemeral: limit,
      retry_after_seconds: RETRY_AFTER_SECONDS,
    },
  )
