/**
 * The first script of the page: it is small and needs no other. While those are on their way it asks for what every page begins
 * with, and for the live picture that the address of the page names.
 */
import { type EarlyAnswer, SERVICE, TOKEN_KEY } from './api/early.ts'
import { hasVideo } from './api/has-video.ts'
import type { Pipeline } from './api/types.ts'

/** How long an answer waits for the page to take it, milliseconds: a video that nobody takes must end. */
const WAIT_MS = 5000

const early = new Map<string, EarlyAnswer>()
const token = sessionStorage.getItem(TOKEN_KEY) ?? undefined

const ask = (path: string): Promise<Response> => {
  const url = new URL(path, SERVICE).href
  const abort = new AbortController()
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const answer = fetch(url, { headers, signal: abort.signal, cache: 'no-store' })
  early.set(url, { token, answer, abort })
  setTimeout(() => {
    if (early.delete(url)) abort.abort()
  }, WAIT_MS)
  return answer
}

/** The service names the list in the page where it answers without a token. */
const isOpen = document.querySelector('link[href="../pipeline"]') !== null

const askAhead = async (): Promise<void> => {
  const list = await ask('svc/pipeline')
  const [, id] = /^#\/pipeline\/([\w-]+)$/.exec(location.hash) ?? []
  if (!list.ok || id === undefined || document.hidden) return
  const pipelines = (await list.clone().json()) as readonly Pipeline[]
  if (pipelines.some((pipeline) => pipeline.id === id && hasVideo(pipeline))) await ask(`svc/pipeline/${id}/video`)
}

window.early = early
// A failure is told to whoever takes the answer.
if (isOpen || token !== undefined) askAhead().catch(() => {})
