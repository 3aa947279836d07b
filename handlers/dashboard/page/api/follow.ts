import { pause } from '../../../../lib/pause.ts'
import type { StreamEvent } from '../../../client/client.ts'
import { ApiError } from './api.ts'

const RETRY_MS = 1000
/** An unneeded connection is closed after this time: a browser has six per host, for all tabs and windows. */
const UNNEEDED_MS = 5000

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
  /** false: the stream has ended and is being reopened. */
  readonly onConnection?: (connected: boolean) => void
  readonly signal: AbortSignal
}

/** A picture may float above other windows while its tab is hidden. */
const isVisible = (): boolean => !document.hidden || (document.pictureInPictureElement ?? null) !== null
/** True for the one window that has the focus. */
export const isInUse = (): boolean => !document.hidden && document.hasFocus()

/** Follows a stream of events until the signal aborts or the API says that it does not exist; pauses while the page is not in use. */
export const follow = async ({ open, onEvent, onConnection, signal }: Follower): Promise<void> => {
  let lastEventId: string | undefined
  const onConnect = (): void => onConnection?.(true)
  const onReconnect = (): void => onConnection?.(false)
  while (!signal.aborted) {
    await until(isInUse, signal)
    const attempt = new AbortController()
    const end = (): void => attempt.abort()
    signal.addEventListener('abort', end)
    const stopWatching = whenUnneeded(isInUse, end)
    try {
      for await (const event of open({ lastEventId, signal: attempt.signal, onConnect, onReconnect })) {
        lastEventId = event.id || lastEventId
        onEvent(event)
      }
    } catch (error) {
      // A lost session sets `loginNeeded`; the caller follows again after the login.
      if (error instanceof ApiError && (error.status === 401 || error.status === 404)) return
    } finally {
      stopWatching()
      signal.removeEventListener('abort', end)
    }
    if (attempt.signal.aborted) continue
    onConnection?.(false)
    await pause(RETRY_MS, signal)
  }
}

/** The chunks of a body; Safari cannot iterate a stream. */
export async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  for (;;) {
    const chunk = await reader?.read()
    if (chunk === undefined || chunk.done) return
    yield chunk.value
  }
}

/** Calls back once the tab has been hidden for a while. Answers a function that stops watching. */
export const whenHidden = (callback: () => void): (() => void) => whenUnneeded(isVisible, callback)

const whenUnneeded = (isNeeded: () => boolean, callback: () => void): (() => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = (): void => {
    clearTimeout(timer)
    if (!isNeeded()) timer = setTimeout(callback, UNNEEDED_MS)
  }
  const stopWatching = watchPage(look)
  look()
  return () => {
    clearTimeout(timer)
    stopWatching()
  }
}

/** Repeats the work while the tab is visible until the signal aborts. It answers the pause until the next run, milliseconds; undefined ends it. */
export const whileVisible = async (signal: AbortSignal, work: () => Promise<number | undefined>): Promise<void> => {
  while (!signal.aborted) {
    await untilVisible(signal)
    const ms = await work()
    if (ms === undefined) return
    await pause(ms, signal)
  }
}

/** Resolves when the tab is visible, or the signal aborts. */
export const untilVisible = (signal: AbortSignal): Promise<void> => until(isVisible, signal)

const until = (isTrue: () => boolean, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (isTrue() || signal.aborted) return resolve()
    const look = (): void => {
      if (!isTrue() && !signal.aborted) return
      stopWatching()
      signal.removeEventListener('abort', look)
      resolve()
    }
    const stopWatching = watchPage(look)
    signal.addEventListener('abort', look)
  })

/** Calls back when the tab is shown or hidden, and when its window gets or loses the focus. Answers a function that stops watching. */
const watchPage = (callback: () => void): (() => void) => {
  const end = new AbortController()
  document.addEventListener('visibilitychange', callback, end)
  for (const type of ['focus', 'blur']) addEventListener(type, callback, end)
  return () => end.abort()
}
