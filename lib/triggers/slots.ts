import { ApiError } from '../errors.ts'
import type { PipelineRepository, SettingsRepository } from '../repositories/repositories.ts'
import { readSettings } from '../settings/settings.ts'
import { createReservations, type Reservation } from '../slots.ts'

/** Reserves one of the triggered pipelines until it is stored or has failed; SERVICE_UNAVAILABLE `max_ephemeral` when none is left. */
export type TakeTriggerSlot = (id: string) => Promise<Reservation>

/** Keeps the number of triggered pipelines within `settings.triggers.max_ephemeral`, also while many start at once. */
export const createTriggerSlots = (deps: {
  readonly pipelines: Pick<PipelineRepository, 'list'>
  readonly settings: SettingsRepository
}): TakeTriggerSlot => {
  const reserve = createReservations()
  return (id) =>
    reserve(id, async () => {
      const [records, { triggers }] = await Promise.all([deps.pipelines.list(), readSettings(deps.settings)])
      return {
        taken: records.filter(({ config }) => config.ephemeral).map(({ config }) => config.id),
        requireFree: (taken) => {
          if (taken >= triggers.max_ephemeral) throw noSlot(triggers.max_ephemeral)
        },
      }
    })
}

/** Seconds after which a client may try again. */
const RETRY_AFTER_SECONDS = 5

const noSlot = (limit: number) =>
  new ApiError(
    'SERVICE_UNAVAILABLE',
    `The limit of ${limit} triggered pipelines is reached. End a stream or raise triggers.max_ephemeral in the settings.`,
    { reason: 'max_ephemeral', max_ephemeral: limit, retry_after_seconds: RETRY_AFTER_SECONDS },
  )
