import { issuesOf as listIssues } from '../../../client/api-error.ts'
import { createClient } from '../../../client/client.ts'
import { serviceClock } from './now.ts'
import { SERVICE, takePrefetched } from './prefetched.ts'
import { refuse, token } from './session.ts'

export { reasonOf } from '../../../client/api-error.ts'
export { ApiError, etagOf } from '../../../client/client.ts'

/** The operations of the service, with the token of the login. */
export const api = createClient({
  url: SERVICE,
  token: () => token.peek(),
  fetch: async (url, init) => {
    const used = token.peek()
    // A session by WebRTC is ended also by a page that is being left.
    const sent = url.includes('/whep/') ? { ...init, keepalive: true } : init
    const response = await (takePrefetched(url, sent, used) ?? timedFetch(url, sent))
    if (response.status === 401) refuse(used)
    return response
  },
})

const timedFetch = async (url: string, init: RequestInit): Promise<Response> => {
  const sentAt = Date.now()
  const response = await (init.method === 'GET' && !STREAM.test(url) && !url.includes(RECORDED)
    ? fetchWithTimeout(url, init)
    : fetch(url, init))
  serviceClock.observe(response, sentAt)
  return response
}

/** Endless answers; their readers notice a silence. */
const STREAM = /\/(?:events|video)(?:\?|$)/

/** As long as the recording is. */
const RECORDED = '/recording.'

/** The service answers every GET sooner: after this the connection is dead. */
const TIMEOUT_MS = 20_000

const fetchWithTimeout = async (url: string, { signal, ...init }: RequestInit): Promise<Response> => {
  const attempt = new AbortController()
  const end = (): void => attempt.abort(signal?.reason)
  const timer = setTimeout(() => attempt.abort(new TypeError('No answer')), TIMEOUT_MS)
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

/** The first mistake of each field, by its path such as `source.uri`. */
export const issuesOf = (error: unknown): ReadonlyMap<string, string> =>
  new Map(
    listIssues(error)
      .map(({ path, message }) => [path, message] as const)
      .reverse(),
  )

/** A failure in words for the user. */
export const wordsOf = (error: unknown): string => {
  if (error instanceof TypeError) return 'The service does not answer. Check that it runs and that this computer can reach it.'
  return error instanceof Error ? error.message : String(error)
}
