/**
 * The first script of the page, inline and small. While the other scripts load, it requests the list of pipelines, and the live
 * video of the pipeline that the URL names, or offers a session by WebRTC.
 */

import { hasKlv, hasSound, hasVideo } from './api/phase.ts'
import { type Prefetched, SERVICE, TOKEN_KEY } from './api/prefetched.ts'
import type { Pipeline } from './api/types.ts'
import { offerSession } from './player/offered-session.ts'

/** An answer that the page has not used by then is aborted, milliseconds. */
const UNUSED_MS = 5000

const prefetched = new Map<string, Prefetched>()
const token = sessionStorage.getItem(TOKEN_KEY) ?? undefined
const CREDENTIAL: Readonly<Record<string, string>> = token === undefined ? {} : { authorization: `Bearer ${token}` }

const request = (path: string): Promise<Response> => {
  const url = new URL(path, SERVICE).href
  const abort = new AbortController()
  const answer = fetch(url, { headers: CREDENTIAL, signal: abort.signal, cache: 'no-store' })
  prefetched.set(url, { token, answer, abort })
  setTimeout(() => {
    if (prefetched.delete(url)) abort.abort()
  }, UNUSED_MS)
  return answer
}

/** The service adds this link when it needs no token. */
const isOpen = document.querySelector('link[href="../pipeline"]') !== null
/** Where it plays so, the page needs no list before it offers a session. */
const offersSession = typeof VideoDecoder === 'undefined' && typeof RTCPeerConnection !== 'undefined'

const prefetch = async (): Promise<void> => {
  const [, page, id] = /^#\/(pipeline|watch)\/([\w-]+)$/.exec(location.hash) ?? []
  // As the page asks for it.
  const isWhole = page === 'pipeline'
  if (offersSession && id !== undefined && !document.hidden) prefetchSession(id, isWhole)
  const list = await request('svc/pipeline')
  if (offersSession || !list.ok || id === undefined || document.hidden) return
  const pipelines = (await list.clone().json()) as readonly Pipeline[]
  const named = pipelines.find((pipeline) => pipeline.id === id && hasVideo(pipeline))
  // The page, which reads the same answer, may be faster.
  if (named === undefined || window.hasBegunToPlay === true) return
  const query = [...(isWhole && hasSound(named) ? ['audio=1'] : []), ...(isWhole && hasKlv(named) ? ['klv=1'] : [])].join('&')
  await request(`svc/pipeline/${id}/video${query === '' ? '' : '?'}${query}`)
}

/** By WebRTC. The service leaves out the sound and the KLV that the pipeline does not have, and refuses when there is no video now. */
const prefetchSession = (id: string, isWhole: boolean): void => {
  const url = new URL(`svc/pipeline/${id}/whep?wait=0`, SERVICE).href
  const headers = { ...CREDENTIAL, 'content-type': 'application/sdp' }
  const session = offerSession({ hasKlv: isWhole, hasSound: isWhole }, (body) => fetch(url, { method: 'POST', headers, body }))
  const own = { id, session }
  const discard = (): void => {
    if (window.prefetchedSession !== own) return
    window.prefetchedSession = undefined
    // The service notices.
    session.connection.close()
  }
  window.prefetchedSession = own
  session.answered.then(({ ok }) => ok || discard(), discard)
  setTimeout(discard, UNUSED_MS)
}

window.prefetched = prefetched
// The code that uses the answer handles a failure.
if (isOpen || token !== undefined) prefetch().catch(() => {})
