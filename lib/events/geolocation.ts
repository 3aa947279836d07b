import type { EngineEvent } from '../engine/messages.ts'
import { isDatabaseBusy } from '../errors.ts'
import type { Log } from '../ports.ts'
import type { PipelineRepository } from '../repositories/repositories.ts'
import type { Geolocation } from '../schema/pipeline.ts'

/** Shortest time between two writes for one pipeline, milliseconds. */
const WRITE_EVERY_MS = 1000

export interface GeolocationRecorder {
  /** Writes the geolocation of an engine event to the database; ignores other events. */
  push(event: EngineEvent): void
  /** Discards what is not written yet. */
  close(): void
}

interface Recent {
  timer: ReturnType<typeof setTimeout> | undefined
  /** Came during a write or within `WRITE_EVERY_MS` after it, or found the database busy. */
  waiting: Geolocation | undefined
  written: Geolocation | undefined
}

interface RecorderDeps {
  readonly pipelines: Pick<PipelineRepository, 'find' | 'setGeolocation'>
  readonly log: Log
}

/** Stores the last geolocation from a pipeline's KLV. It is no change of configuration, so `pipelines` must not publish it. */
export const createGeolocationRecorder = (deps: RecorderDeps): GeolocationRecorder => {
  const pipelines = new Map<string, Recent>()

  const begin = async (id: string, recent: Recent, geolocation: Geolocation, work: Promise<void>): Promise<void> => {
    try {
      await work
    } catch (error) {
      recent.written = undefined
      // Written behind, unless a newer one has come.
      if (isDatabaseBusy(error)) recent.waiting ??= geolocation
      else deps.log.warn('geolocation_not_stored', { pipeline_id: id, error })
    }
    // Closed meanwhile.
    if (pipelines.get(id) !== recent) return
    recent.timer = setTimeout(() => {
      const { waiting } = recent
      recent.waiting = undefined
      if (waiting === undefined) pipelines.delete(id)
      else void begin(id, recent, waiting, writeWaiting(deps, id, recent, waiting))
    }, WRITE_EVERY_MS)
  }

  return {
    push(event) {
      if (event.type !== 'geolocation') return
      const { id, geolocation } = event
      const known = pipelines.get(id)
      if (known !== undefined) {
        known.waiting = geolocation
        return
      }
      const recent: Recent = { timer: undefined, waiting: undefined, written: undefined }
      pipelines.set(id, recent)
      void begin(id, recent, geolocation, write(deps, id, recent, geolocation))
    },
    close() {
      for (const { timer } of pipelines.values()) clearTimeout(timer)
      pipelines.clear()
    },
  }
}

const write = async ({ pipelines }: RecorderDeps, id: string, recent: Recent, geolocation: Geolocation): Promise<void> => {
  // Not stored yet, or removed: nothing to write to.
  const record = await pipelines.find(id)
  if (record === undefined || same(record.geolocation, geolocation)) return
  recent.written = geolocation
  await pipelines.setGeolocation(id, geolocation, record.updated_at)
}

/** A change by a client is newer than `waiting`; then only the next geolocation from KLV is written. */
const writeWaiting = async (deps: RecorderDeps, id: string, recent: Recent, geolocation: Geolocation): Promise<void> => {
  const record = await deps.pipelines.find(id)
  const changedByClient = recent.written !== undefined && !same(record?.geolocation ?? null, recent.written)
  recent.written = undefined
  if (!changedByClient) await write(deps, id, recent, geolocation)
}

const same = (one: Geolocation | null, other: Geolocation): boolean =>
  one !== null &&
  one.latitude === other.latitude &&
  one.longitude === other.longitude &&
  one.altitude === other.altitude &&
  one.heading === other.heading
