import { parseMethods } from '../protocol/header-fields.ts'
import type { ClientSession } from './client-session.ts'

/** Shortest time between two requests, milliseconds. */
const MIN_INTERVAL_MS = 500
/** Longest, so that routers on the way do not forget the connection. */
const MAX_INTERVAL_MS = 60_000

/**
 * Keeps a session by requests until the signal: two in its timeout, with the means that the server has (GET_PARAMETER, else OPTIONS).
 * The first one asks for these means. Responses are not needed: some servers give none, or an error, and send media all the same.
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
