/** An answer that the first script of the page has asked for. */
export interface EarlyAnswer {
  readonly token: string | undefined
  readonly answer: Promise<Response>
  readonly abort: AbortController
}

declare global {
  interface Window {
    /** By address; each is taken once. */
    early?: Map<string, EarlyAnswer>
  }
}

/** The page may be below a prefix of a reverse proxy. */
export const SERVICE = new URL('../../', document.baseURI)

export const TOKEN_KEY = 'token'

/** What was asked for ahead with the same token; undefined when there is nothing. */
export const takeEarly = (url: string, { method, signal }: RequestInit, token: string | undefined): Promise<Response> | undefined => {
  const found = window.early?.get(url)
  if (found === undefined || method !== 'GET' || token !== found.token) return undefined
  window.early?.delete(url)
  const end = (): void => found.abort.abort()
  signal?.addEventListener('abort', end)
  if (signal?.aborted === true) end()
  return found.answer
}
