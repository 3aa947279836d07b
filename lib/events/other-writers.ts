import type { EventHub } from './hub.ts'

/** The other process writes its record right after the engine's event: the database is read after each of these, milliseconds. */
const READ_AFTER_MS = [300, 3000]

/**
 * A hub for a database that other processes write too. Pipelines that they add and remove are in the engine's events, so the database
 * is read after those. Changes that do not reach the engine (a geolocation) are not noticed.
 */
export const withOtherWriters = (hub: EventHub): EventHub => {
  const later = createLaterReads(hub.reread)
  return {
    ...hub,
    feed: {
      ...hub.feed,
      close() {
        later.close()
        hub.feed.close()
      },
    },
    push(event) {
      hub.push(event)
      if (event.type === 'pipeline' && !hub.has(event.view.id)) later.read(event.view.id)
      if (event.type === 'pipeline_removed') later.read(event.id)
    },
  }
}

/** Reads a pipeline some time after now; a later call for it begins anew. */
const createLaterReads = (read: (id: string) => void) => {
  const timers = new Map<string, ReturnType<typeof setTimeout>>()
  let closed = false
  const readAfter = (id: string, [delay, ...more]: readonly number[]): void => {
    if (delay === undefined || closed) return
    clearTimeout(timers.get(id))
    const timer = setTimeout(() => {
      timers.delete(id)
      read(id)
      readAfter(id, more)
    }, delay)
    timers.set(id, timer)
  }
  return {
    read: (id: string): void => readAfter(id, READ_AFTER_MS),
    close: (): void => {
      closed = true
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}
