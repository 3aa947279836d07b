import type { Log } from '../ports.ts'
import type { PipelineRepository } from '../repositories/repositories.ts'
import type { EventHub } from './hub.ts'

/** The other process writes its record right after the engine's event: the database is read after each of these, milliseconds. */
const READ_AFTER_MS = [300, 3000]

interface OtherWritersDeps {
  readonly pipelines: Pick<PipelineRepository, 'find' | 'list'>
  readonly log: Log
}

/**
 * A hub for a database that other processes write too. Pipelines that they add and remove are in the engine's events, so the database
 * is read after those. Changes that do not reach the engine (a geolocation) are not noticed.
 */
export const withOtherWriters = (hub: EventHub, deps: OtherWritersDeps): EventHub => {
  /** Pipelines whose record was read. */
  const known = new Set<string>()
  const timers = new Map<string, ReturnType<typeof setTimeout>>()
  let closed = false

  const read = async (id: string): Promise<void> => {
    const record = await deps.pipelines.find(id)
    if (record === undefined) {
      if (known.delete(id)) hub.removed(id)
      return
    }
    known.add(id)
    hub.changed(id)
  }

  const readLater = (id: string, delays: readonly number[]): void => {
    const [delay, ...more] = delays
    if (delay === undefined || closed) return
    clearTimeout(timers.get(id))
    const timer = setTimeout(() => {
      timers.delete(id)
      read(id).catch((error: unknown) => deps.log.warn('event_not_sent', { pipeline_id: id, error }))
      readLater(id, more)
    }, delay)
    timers.set(id, timer)
  }

  return {
    ...hub,
    feed: {
      ...hub.feed,
      close() {
        closed = true
        for (const timer of timers.values()) clearTimeout(timer)
        timers.clear()
        hub.feed.close()
      },
    },
    push(event) {
      hub.push(event)
      if (event.type === 'pipeline' && !known.has(event.view.id)) readLater(event.view.id, READ_AFTER_MS)
      if (event.type === 'pipeline_removed') readLater(event.id, READ_AFTER_MS)
    },
    async resync(views) {
      await hub.resync(views)
      known.clear()
      for (const { config } of await deps.pipelines.list()) known.add(config.id)
    },
    changed(id) {
      known.add(id)
      hub.changed(id)
    },
    removed(id) {
      known.delete(id)
      hub.removed(id)
    },
  }
}
