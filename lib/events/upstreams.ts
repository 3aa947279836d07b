import type { Engine, Log } from '../ports.ts'
import type { EventHub } from './hub.ts'

/** Pause before a lost engine is asked again, milliseconds. */
const RETRY_MS = 1000

export interface UpstreamDeps {
  readonly engine: Pick<Engine, 'events' | 'list'>
  readonly log: Log
}

/**
 * A hub that follows the engine only while somebody follows the hub: for runtimes where nothing outlives a request.
 * Each upstream begins with the present state, so whoever connects misses no state, only what passed before.
 */
export const followOnDemand = (hub: EventHub, deps: UpstreamDeps): EventHub => {
  let upstream: AbortController | undefined

  const pump = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        await relay(hub, deps, signal)
      } catch (error) {
        deps.log.debug('events_not_followed', { error })
      }
      await pause(RETRY_MS, signal)
    }
  }

  const { feed } = hub
  return {
    ...hub,
    feed: {
      missedSince: feed.missedSince,
      resumes: feed.resumes,
      close: feed.close,
      get subscribers() {
        return feed.subscribers
      },
      subscribe(follower) {
        const unsubscribe = feed.subscribe(follower)
        if (upstream === undefined) {
          upstream = new AbortController()
          void pump(upstream.signal)
        }
        return () => {
          unsubscribe()
          if (feed.subscribers > 0) return
          upstream?.abort()
          upstream = undefined
        }
      },
    },
  }
}

const relay = async (hub: EventHub, { engine }: UpstreamDeps, signal: AbortSignal): Promise<void> => {
  const events = engine.events(signal)[Symbol.asyncIterator]()
  try {
    // The engine greets a subscriber at once; from here on no event is missed.
    await events.next()
    await hub.resync(await engine.list())
    for (let next = await events.next(); next.done !== true; next = await events.next()) hub.push(next.value)
  } finally {
    await events.return?.()
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const over = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, ms)
    signal.addEventListener('abort', over)
  })
