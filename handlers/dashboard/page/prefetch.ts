/**
 * The first script of the page, inline and small. While the other scripts load, it requests the list of pipelines, and the live
 * video of the pipeline that the URL names.
 */
import { hasVideo } from './api/phase.ts'
import { type Prefetched, SERVICE, TOKEN_KEY } from './api/prefetched.ts'
import type { Pipeline } from './api/types.ts'

/** An answer that the page has not used by then is aborted, milliseconds. */
const UNUSED_MS = 5000

const prefetched = new Map<string, Prefetched>()
const token = sessionStorage.getItem(TOKEN_KEY) ?? undefined

const request = (path: string): Promise<Response> => {
  const url = new URL(path, SERVICE).href
  const abort = new AbortController()
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const answer = fetch(url, { headers, signal: abort.signal, cache: 'no-store' })
  prefetched.set(url, { token, answer, abort })
  setTimeout(() => {
    if (prefetched.delete(url)) abort.abort()
  }, UNUSED_MS)
  return answer
}

/** The service adds this link when it needs no token. */
const isOpen = document.querySelector('link[href="../pipeline"]') !== null

const prefetch = async (): Promise<void> => {
  const list = await request('svc/pipeline')
  const [, id] = /^#\/pipeline\/([\w-]+)$/.exec(location.hash) ?? []
  if (!list.ok || id === undefined || document.hidden) return
  const pipelines = (await list.clone().json()) as readonly Pipeline[]
  if (pipelines.some((pipeline) => pipeline.id === id && hasVideo(pipeline))) await request(`svc/pipeline/${id}/video`)
}

window.prefetched = prefetched
// The code that uses the answer handles a failure.
if (isOpen || token !== undefined) prefetch().catch(() => {})
