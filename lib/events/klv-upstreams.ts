import type { Klv, Log } from '../ports.ts'
import type { EventHub } from './hub.ts'

/** The engine goes on sending for a while after the last client left, so that one that comes back has missed nothing. Milliseconds. */
const LINGER_MS = 10_000
/** Pause before the engine is asked again. */
const RETRY_MS = 1000

export interface KlvFollowers {
  /** Somebody follows the packets of a pipeline from now on; returns what ends that. */
  follow(id: string): () => void
  /** Ends everything at once. */
  close(): void
}

interface Upstream {
  followers: number
  timer: ReturnType<typeof setTimeout> | undefined
  readonly abort: AbortController
}

/** Brings KLV packets from the engine while somebody follows them, once per pipeline, however many follow. */
export const createKlvFollowers = (deps: {
  readonly klv: Pick<Klv, 'follow'>
  readonly events: Pick<EventHub, 'push'>
  readonly log: Log
}): KlvFollowers => {
  const upstreams = new Map<string, Upstream>()

  const open = (id: string): Upstream => {
    const upstream: Upstream = { followers: 0, timer: undefined, abort: new AbortController() }
    upstreams.set(id, upstream)
    void pump(id, upstream.abort.signal)
    return upstream
  }

  const end = (id: string, upstream: Upstream): void => {
    clearTimeout(upstream.timer)
    upstream.abort.abort()
    if (upstreams.get(id) === upstream) upstreams.delete(id)
  }

  /** The engine may be away, and the pipeline unknown to it for a while: asked again until nobody follows. */
  const pump = async (id: string, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        for await (const packet of deps.klv.follow(id, signal)) deps.events.push({ type: 'klv', id, packet })
      } catch (error) {
        deps.log.debug('klv_not_followed', { pipeline_id: id, error })
      }
      await pause(RETRY_MS, signal)
    }
  }

  return {
    follow(id) {
      const upstream = upstreams.get(id) ?? open(id)
      clearTimeout(upstream.timer)
      upstream.followers += 1
      let following = true
      return () => {
        if (!following) return
        following = false
        upstream.followers -= 1
        if (upstream.followers === 0) upstream.timer = setTimeout(() => end(id, upstream), LINGER_MS)
      }
    },
    close() {
      for (const [id, upstream] of [...upstreams]) end(id, upstream)
    },
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
