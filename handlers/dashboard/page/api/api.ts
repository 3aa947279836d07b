import { ApiError, createClient } from '../../../client/client.ts'
import { SERVICE, takeEarly } from './early.ts'
import { serviceClock } from './now.ts'
import { refuse, token } from './session.ts'

export { ApiError, etagOf } from '../../../client/client.ts'

/** The operations of the service, with the token of the login. */
export const api = createClient({
  url: SERVICE,
  token: () => token.peek(),
  fetch: async (url, init) => {
    const used = token.peek()
    const response = await (takeEarly(url, init, used) ?? timedFetch(url, init))
    if (response.status === 401) refuse(used)
    return response
  },
})

const timedFetch = async (url: string, init: RequestInit): Promise<Response> => {
  const asked = Date.now()
  const response = await (init.method === 'GET' && !STREAM.test(url) ? fetchSoon(url, init) : fetch(url, init))
  serviceClock.observe(response, asked)
  return response
}

/** These never end, and whoever reads them sees when they fall silent. */
const STREAM = /\/(events|video)$/

/** The service answers a GET sooner: the network has dropped the connection, and told nobody. */
const UNANSWERED_MS = 20_000

const fetchSoon = async (url: string, { signal, ...init }: RequestInit): Promise<Response> => {
  const attempt = new AbortController()
  const end = (): void => attempt.abort(signal?.reason)
  const timer = setTimeout(() => attempt.abort(new TypeError('No answer')), UNANSWERED_MS)
  signal?.addEventListener('abort', end)
  try {
    if (signal?.aborted === true) end()
    const response = await fetch(url, { ...init, signal: attempt.signal })
    clearTimeout(timer)
    return new Response(await response.blob(), response)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  }
}

/** Machine-readable cause, such as `not_playing`. */
export const reasonOf = (error: unknown): string | undefined => {
  const reason = error instanceof ApiError ? error.details.reason : undefined
  return typeof reason === 'string' ? reason : undefined
}

/** What is wrong with each field, by its path such as `source.uri`. */
export const issuesOf = (error: unknown): ReadonlyMap<string, string> => {
  const list = error instanceof ApiError && Array.isArray(error.details.issues) ? error.details.issues : []
  // Of several for one field the first one counts.
  return new Map((list as { path?: string; message?: string }[]).map(({ path = '', message = '' }) => [path, message] as const).reverse())
}

/** What to tell people about a failure. */
export const wordsOf = (error: unknown): string => {
  if (error instanceof TypeError) return 'The service does not answer. Check that it runs and that this computer reaches it.'
  return error instanceof Error ? error.message : String(error)
}
