/**
 * The first script of the page, inline and small. While the other scripts load, it requests the list of pipelines, and the live
 * video of the pipeline that the URL names, or offers a session by WebRTC.
 */

import { hasKlv, hasSound, hasVideo } from './api/phase.ts'
import { type Prefetched, SERVICE, TOKEN_KEY } from './api/prefetched.ts'
import type { Pipeline } from './api/types.ts'
import { offerSession, type WantedTracks } from './player/offered-session.ts'

/** An answer that the page has not used by then is aborted, milliseconds. */
const UNUSED_MS = 5000

const prefetched = new Map<string, Prefetched>()
const token = sessionStorage.getItem(TOKEN_KEY) ?? undefined

const request = (path: string, offer?: string): Promise<Response> => {
  const url = new URL(path, SERVICE).href
  const abort = new AbortController()
  const method = offer === undefined ? 'GET' : 'POST'
  const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...(offer !== undefined && OFFER) }
  const answer = fetch(url, { method, headers, signal: abort.signal, cache: 'no-store', ...(offer !== undefined && { body: offer }) })
  prefetched.set(url, { method, token, answer, abort })
  setTimeout(() => {
    if (prefetched.delete(url)) abort.abort()
  }, UNUSED_MS)
  return answer
}

const OFFER = { 'content-type': 'application/sdp' }

/** The service adds this link when it needs no token. */
const isOpen = document.querySelector('link[href="../pipeline"]') !== null

const prefetch = async (): Promise<void> => {
  const list = await request('svc/pipeline')
  const [, page, id] = /^#\/(pipeline|watch)\/([\w-]+)$/.exec(location.hash) ?? []
  if (!list.ok || id === undefined || document.hidden) return
  const pipelines = (await list.clone().json()) as readonly Pipeline[]
  const named = pipelines.find((pipeline) => pipeline.id === id && hasVideo(pipeline))
  // The page, which reads the same answer, may be faster.
  if (named === undefined || window.hasBegunToPlay === true) return
  // As the page asks for it.
  const isWhole = page === 'pipeline'
  if (typeof VideoDecoder === 'undefined' && typeof RTCPeerConnection !== 'undefined') {
    prefetchSession(id, { hasKlv: isWhole && hasKlv(named), hasSound: isWhole && hasSound(named) })
    return
  }
  const query = [...(isWhole && hasSound(named) ? ['audio=1'] : []), ...(isWhole && hasKlv(named) ? ['klv=1'] : [])].join('&')
  await request(`svc/pipeline/${id}/video${query === '' ? '' : '?'}${query}`)
}

/** By WebRTC. */
const prefetchSession = (id: string, wanted: WantedTracks): void => {
  const session = offerSession(wanted, (offer) => request(`svc/pipeline/${id}/whep`, offer))
  window.prefetchedSession = { id, session }
  // Who takes it handles a failure.
  session.answered.catch(() => {})
  setTimeout(() => {
    if (window.prefetchedSession?.session !== session) return
    window.prefetchedSession = undefined
    // The service notices.
    session.connection.close()
  }, UNUSED_MS)
}

window.prefetched = prefetched
// The code that uses the answer handles a failure.
if (isOpen || token !== undefined) prefetch().catch(() => {})
