import type { EngineEvent } from '../engine/messages.ts'
import type { Log } from '../ports.ts'
import type { PipelineRepository } from '../repositories.ts'
import type { Geolocation } from '../schema/pipeline.ts'

/** One pipeline's place is written at most this often, milliseconds. */
const WRITE_EVERY_MS = 1000

export interface GeolocationKeeper {
  /** Takes what the engine tells; positions among it are written to the database. */
  push(event: EngineEvent): void
  /** Forgets what is not written yet. */
  close(): void
}

interface Kept {
  timer: ReturnType<typeof setTimeout> | undefined
  /** Told while a write was too recent. */
  waiting: Geolocation | undefined
  written: Geolocation | undefined
}

/** Keeps the last known place of each pipeline that extracts it. `pipelines` without events: a place is no change of configuration. */
export const createGeolocationKeeper = (deps: {
  readonly pipelines: Pick<PipelineRepository, 'find' | 'setGeolocation'>
  readonly log: Log
}): GeolocationKeeper => {
  const pipelines = new Map<string, Kept>()

  const write = async (id: string, kept: Kept, place: Geolocation): Promise<void> => {
    // Not stored yet, or removed: nothing to write to.
    const record = await deps.pipelines.find(id)
    if (record === undefined || same(record.geolocation, place)) return
    kept.written = place
    await deps.pipelines.setGeolocation(id, place, record.updated_at)
  }

  /** What waited is older than a change by hand that came meanwhile; only the next place overrides that. */
  const writeWaiting = async (id: string, kept: Kept, place: Geolocation): Promise<void> => {
    const record = await deps.pipelines.find(id)
    const changedByHand = kept.written !== undefined && !same(record?.geolocation ?? null, kept.written)
    kept.written = undefined
    if (!changedByHand) await write(id, kept, place)
  }

  const begin = (id: string, kept: Kept, work: Promise<void>): void => {
    work.catch((error: unknown) => deps.log.warn('geolocation_not_kept', { pipeline_id: id, error }))
    kept.timer = setTimeout(() => {
      const { waiting } = kept
      kept.timer = undefined
      kept.waiting = undefined
      if (waiting === undefined) pipelines.delete(id)
      else begin(id, kept, writeWaiting(id, kept, waiting))
    }, WRITE_EVERY_MS)
  }

  return {
    push(event) {
      if (event.type !== 'geolocation') return
      const { id, geolocation } = event
      const kept = pipelines.get(id) ?? { timer: undefined, waiting: undefined, written: undefined }
      pipelines.set(id, kept)
      if (kept.timer === undefined) begin(id, kept, write(id, kept, geolocation))
      else kept.waiting = geolocation
    },
    close() {
      for (const { timer } of pipelines.values()) clearTimeout(timer)
      pipelines.clear()
    },
  }
}

const same = (one: Geolocation | null, other: Geolocation): boolean =>
  one !== null &&
  one.latitude === other.latitude &&
  one.longitude === other.longitude &&
  one.altitude === other.altitude &&
  one.heading === other.heading
