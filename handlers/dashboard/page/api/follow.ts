import { ApiFailure, send } from './api.ts'
import { createEventParser, type ServerEvent } from './server-sent-events.ts'

const FIRST_DELAY_MS = 300
const MAX_DELAY_MS = 5000
/** The service sends a comment every 30 s; a stream that is silent for longer is dead. */
const SILENCE_MS = 45_000
/** A hidden tab gives its connection back after this time: a browser has six per host, for all tabs. */
const HIDDEN_MS = 5000

export interface Follower {
  readonly path: string
  readonly onEvent: (event: ServerEvent) => void
  /** true: events come; false: the stream has ended and is being opened again. */
  readonly onConnection?: (connected: boolean) => void
  readonly signal: AbortSignal
}

/**
 * Follows a stream of events until the signal aborts or the API says that it does not exist. EventSource cannot send the header
 * field of a credential, so this reads the stream by fetch. Reconnects with Last-Event-ID; pauses while the tab is hidden.
 */
export const follow = async (follower: Follower): Promise<void> => {
  const { signal, onConnection } = follower
  let lastId = ''
  let delay = FIRST_DELAY_MS
  while (!signal.aborted) {
    await untilVisible(signal)
    try {
      await readStream(follower, lastId, (event) => {
        delay = FIRST_DELAY_MS
        if (event.id !== '') lastId = event.id
        follower.onEvent(event)
      })
    } catch (error) {
      // Whoever follows learns of a lost session by `loginNeeded`, and starts anew after the login.
      if (error instanceof ApiFailure && (error.status === 401 || error.status === 404)) return
    }
    onConnection?.(false)
    await sleep(document.hidden ? 0 : delay, signal)
    delay = Math.min(delay * 2, MAX_DELAY_MS)
  }
}

const readStream = async (
  { path, signal, onConnection }: Follower,
  lastId: string,
  onEvent: (event: ServerEvent) => void,
): Promise<void> => {
  const attempt = new AbortController()
  const end = (): void => attempt.abort()
  signal.addEventListener('abort', end)
  const stopWatching = whenHidden(end)
  let silence = setTimeout(end, SILENCE_MS)
  try {
    const response = await send('GET', path, { signal: attempt.signal, headers: lastId === '' ? {} : { 'last-event-id': lastId } })
    onConnection?.(true)
    const parse = createEventParser(onEvent)
    const decoder = new TextDecoder()
    for await (const chunk of chunksOf(response)) {
      clearTimeout(silence)
      silence = setTimeout(end, SILENCE_MS)
      parse(decoder.decode(chunk, { stream: true }))
    }
  } finally {
    clearTimeout(silence)
    stopWatching()
    signal.removeEventListener('abort', end)
    attempt.abort()
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
