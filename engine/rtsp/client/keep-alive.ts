import { parseMethods } from '../protocol/header-fields.ts'
import type { ClientSession } from './client-session.ts'

/** Shortest time between two requests, milliseconds. */
const MIN_INTERVAL_MS = 500
/** Longest, milliseconds: routers on the way forget connections that are silent for longer. */
const MAX_INTERVAL_MS = 60_000

/**
 * Keeps a session alive until the signal: two requests per timeout, GET_PARAMETER if the server supports it, else OPTIONS, which is also
 * the first one. Missing and negative responses are ignored: some servers send media all the same.
 */
export const keepAlive = (session: ClientSession, signal: AbortSignal): void => {
  const intervalMs = Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, session.timeoutSeconds * 500))
  let method: 'OPTIONS' | 'GET_PARAMETER' = 'OPTIONS'
  const ask = async (): Promise<void> => {
    const response = await session.ping(method, AbortSignal.any([signal, AbortSignal.timeout(intervalMs)])).catch(() => undefined)
    if (method === 'OPTIONS' && parseMethods(response?.headers.get('public')).has('GET_PARAMETER')) method = 'GET_PARAMETER'
    else if (method === 'GET_PARAMETER' && (response?.status ?? 0) >= 400) method = 'OPTIONS'
  }
  const timer = setInterval(() => void ask(), intervalMs)
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  void ask()
}
