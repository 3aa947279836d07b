/** An answer that the first script of the page has requested. */
export interface Prefetched {
  readonly token: string | undefined
  readonly answer: Promise<Response>
  readonly abort: AbortController
}

declare global {
  interface Window {
    /** By URL; each is used once. */
    prefetched?: Map<string, Prefetched>
    /** The page has begun to play: the first script requests no video for it any more. */
    hasBegunToPlay?: boolean
  }
}

/** A reverse proxy may add a prefix to the path. */
export const SERVICE = new URL('../../', document.baseURI)

export const TOKEN_KEY = 'token'

/** The prefetched answer, if it was requested with the same token. */
export const takePrefetched = (url: string, { method, signal }: RequestInit, token: string | undefined): Promise<Response> | undefined => {
  const found = window.prefetched?.get(url)
  if (found === undefined || method !== 'GET' || token !== found.token) return undefined
  window.prefetched?.delete(url)
  const end = (): void => found.abort.abort()
  signal?.addEventListener('abort', end)
  if (signal?.aborted === true) end()
  return found.answer
}
