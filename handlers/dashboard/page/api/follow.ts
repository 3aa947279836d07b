import type { StreamEvent } from '../../../client/client.ts'
import { ApiError } from './api.ts'

const RETRY_MS = 1000
/** A hidden tab gives its connection back after this time: a browser has six per host, for all tabs. */
const HIDDEN_MS = 5000

interface Opening {
  readonly lastEventId: string | undefined
  readonly signal: AbortSignal
  readonly onConnect: () => void
  readonly onReconnect: () => void
}

interface Follower {
  /** A stream of the client. */
  readonly open: (opening: Opening) => AsyncIterable<StreamEvent>
  readonly onEvent: (event: StreamEvent) => void
  /** true: events come; false: the stream has ended and is being opened again. */
  readonly onConnection?: (connected: boolean) => void
  readonly signal: AbortSignal
}

/** Follows a stream of events until the signal aborts or the API says that it does not exist; pauses while the tab is hidden. */
export const follow = async ({ open, onEvent, onConnection, signal }: Follower): Promise<void> => {
  let lastEventId: string | undefined
  const onConnect = (): void => onConnection?.(true)
  const onReconnect = (): void => onConnection?.(false)
  while (!signal.aborted) {
    await untilVisible(signal)
    const attempt = new AbortController()
    const end = (): void => attempt.abort()
    signal.addEventListener('abort', end)
    const stopWatching = whenHidden(end)
    try {
      for await (const event of open({ lastEventId, signal: attempt.signal, onConnect, onReconnect })) {
        lastEventId = event.id || lastEventId
        onEvent(event)
      }
    } catch (error) {
      // Whoever follows learns of a lost session by `loginNeeded`, and starts anew after the login.
      if (error instanceof ApiError && (error.status === 401 || error.status === 404)) return
    } finally {
      stopWatching()
      signal.removeEventListener('abort', end)
    }
    onConnection?.(false)
    await sleep(document.hidden ? 0 : RETRY_MS, signal)
  }
}

/** The body piece by piece; Safari cannot iterate a stream. */
export async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  for (;;) {
    const piece = await reader?.read()
    if (piece === undefined || piece.done) return
    yield piece.value
  }
}

/** Calls back once the tab has been hidden for a while. Answers a function that stops watching. */
export const whenHidden = (callback: () => void): (() => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const onChange = (): void => {
    clearTimeout(timer)
    if (document.hidden) timer = setTimeout(callback, HIDDEN_MS)
  }
  document.addEventListener('visibilitychange', onChange)
  onChange()
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', onChange)
  }
}

/** Resolves when the tab is visible, or the signal aborts. */
export const untilVisible = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      signal.removeEventListener('abort', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look)
    look()
  })

/** Resolves after this time, or at once when the signal aborts. */
export const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
