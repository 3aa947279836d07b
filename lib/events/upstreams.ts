import { type Following, follow } from '../engine/follow.ts'
import type { Engine, Klv } from '../engine/protocol.ts'
import type { Log } from '../ports.ts'
import type { EventHub } from './hub.ts'

const PAUSES = { initial_delay_ms: 1000, max_delay_seconds: 1 }

/** KLV is read for this time after the last client left, so that one that reconnects has missed nothing. Milliseconds. */
const KLV_LINGER_MS = 10_000

export interface Upstreams {
  /** Subscribes to the stream of a key; returns the function that unsubscribes. */
  subscribe(key: string): () => void
  /** Ends everything at once; nothing is opened afterwards. */
  close(): void
}

interface Upstream {
  subscribers: number
  timer: ReturnType<typeof setTimeout> | undefined
  readonly abort: AbortController
  readonly following: Following
}

/** One upstream per key while there are subscribers, and `lingerMs` longer. */
const createUpstreams = (start: (key: string, signal: AbortSignal) => Following, lingerMs = 0): Upstreams => {
  const upstreams = new Map<string, Upstream>()
  let closed = false

  const open = (key: string): Upstream => {
    const abort = new AbortController()
    const upstream: Upstream = { subscribers: 0, timer: undefined, abort, following: start(key, abort.signal) }
    upstreams.set(key, upstream)
    return upstream
  }
  const end = (key: string, upstream: Upstream): void => {
    clearTimeout(upstream.timer)
    upstream.abort.abort()
    if (upstreams.get(key) === upstream) upstreams.delete(key)
  }
  const leave = (key: string, upstream: Upstream): void => {
    upstream.subscribers -= 1
    if (upstream.subscribers > 0) return
    if (lingerMs === 0) end(key, upstream)
    else upstream.timer = setTimeout(() => end(key, upstream), lingerMs)
  }
  return {
    subscribe(key) {
      if (closed) return () => {}
      const known = upstreams.get(key)
      // What was lost, such as a pipeline that was deleted, may be back.
      known?.following.retry()
      const upstream = known ?? open(key)
      clearTimeout(upstream.timer)
      upstream.subscribers += 1
      let subscribed = true
      return () => {
        if (subscribed) leave(key, upstream)
        subscribed = false
      }
    },
    close() {
      closed = true
      for (const [key, upstream] of [...upstreams]) end(key, upstream)
    },
  }
}

/** The KLV packets of pipelines, by id: read from the engine once per pipeline for any number of clients. */
export const createKlvUpstreams = ({
  klv,
  events,
  log,
}: {
  readonly klv: Pick<Klv, 'events'>
  readonly events: Pick<EventHub, 'push'>
  readonly log: Log
}): Upstreams =>
  createUpstreams(
    (id, signal) =>
      follow({
        open: (ending) => klv.events(id, ending),
        onEvent: events.push,
        onLost: (error) => log.debug('klv_upstream_lost', { pipeline_id: id, error }),
        pauses: PAUSES,
        signal,
      }),
    KLV_LINGER_MS,
  )

/**
 * A hub that follows the engine only while it has subscribers: for runtimes where nothing outlives a request. Each upstream begins
 * with the present state.
 */
export const followOnDemand = (
  hub: EventHub,
  { engine, log }: { readonly engine: Pick<Engine, 'events' | 'list'>; readonly log: Log },
): EventHub => {
  const upstreams = createUpstreams((_key, signal) =>
    follow({
      open: engine.events,
      onOpen: async () => hub.resync(await engine.list()),
      onEvent: hub.push,
      onLost: (error) => log.debug('event_upstream_lost', { error }),
      pauses: PAUSES,
      signal,
    }),
  )
  const { feed } = hub
  return {
    ...hub,
    feed: {
      ...feed,
      subscribe(subscriber) {
        const unsubscribe = feed.subscribe(subscriber)
        const leave = upstreams.subscribe('all')
        return () => {
          unsubscribe()
          leave()
        }
      },
    },
  }
}
