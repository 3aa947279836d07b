import { ApiError } from '../../../lib/errors.ts'
import { frameRateHint } from '../../mount/frame-rate-hint.ts'
import type { TrackStart } from '../../mount/reader.ts'
import type { RtspRequest } from '../protocol/message.ts'
import { parseRequestUrl, type RequestTarget } from '../protocol/request-url.ts'
import { mountSdp, trackControl, trackOf } from './mount-sdp.ts'
import {
  NOT_FOUND,
  type OutgoingResponse,
  type RequestConnection,
  type RequestHandler,
  sessionHeader,
  sessionOf,
} from './request-connection.ts'
import type { ServerSession } from './server-session.ts'
import { setup } from './setup.ts'

const METHODS = 'OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER'
/** Methods of the standard that a publisher does not support. */
const REFUSED_METHODS = new Set(['ANNOUNCE', 'RECORD', 'REDIRECT'])

/** Methods that need credentials. The others reveal nothing, or need a session, which SETUP opens. */
const GATED_METHODS = new Set(['DESCRIBE', 'SETUP', 'PLAY'])

/** Handles one request (RFC 2326 section 10). */
export const respond = async (context: RequestConnection, request: RtspRequest): Promise<OutgoingResponse> => {
  if (request.version !== '1.0') return { status: 505 }
  if (!/^\d{1,10}$/.test(request.headers.get('cseq') ?? '')) return { status: 400 }
  if (context.needsTls) return { status: 403, headers: { Connection: 'close' }, close: true }
  const required = request.headers.get('require') ?? request.headers.get('proxy-require')
  if (required !== undefined) return { status: 551, headers: { Unsupported: required } }
  if (REFUSED_METHODS.has(request.method)) return { status: 405, headers: { Allow: METHODS } }
  const handler = Object.hasOwn(HANDLERS, request.method) ? HANDLERS[request.method] : undefined
  if (handler === undefined) return { status: 501, headers: { Public: METHODS } }
  const target = parseRequestUrl(request.url)
  if (target === undefined) return { status: 400 }
  // Before the mount is found: a client without credentials does not learn which paths exist, and starts no pipeline.
  const refusal = GATED_METHODS.has(request.method) ? context.gate.refuse(request) : undefined
  return refusal ?? handler(context, request, target)
}

const options: RequestHandler = (context, request) => {
  const session = sessionOf(context, request)
  return session === 'unknown' ? { status: 454 } : { status: 200, headers: { Public: METHODS, ...sessionHeader(context, session) } }
}

const describe: RequestHandler = async (context, request, target) => {
  const accept = request.headers.get('accept')
  if (accept !== undefined && !/application\/sdp|application\/\*|\*\/\*/i.test(accept)) return { status: 406 }
  const mount = context.findMount(target.mountPath)
  if (mount === undefined || target.control !== '') return NOT_FOUND
  const refusal = await mount.untilReady(context.signal).then(() => undefined, refuseStart)
  if (mount.closed) return NOT_FOUND
  if (refusal !== undefined) return refusal
  const body = mountSdp(mount, context.localAddress)
  if (body === undefined) return { status: 503, headers: { 'Retry-After': 1 } }
  context.guessesRate = mount.tracks.some(({ stream }) => frameRateHint(stream).mustBeGuessed)
  return { status: 200, headers: { 'Content-Type': 'application/sdp', 'Content-Base': `${baseUrl(context, target)}/` }, body }
}

/** A failed start as an RTSP status: 402 (license), 404 (the pipeline was removed), 504 (timeout), else 503. */
const refuseStart = (error: unknown): OutgoingResponse => {
  const status = error instanceof ApiError ? error.status : 503
  return status === 402 || status === 404 || status === 504 ? { status } : { status: 503, headers: { 'Retry-After': 1 } }
}

const play: RequestHandler = (context, request, target) => {
  const session = aggregateSession(context, request, target)
  if ('status' in session) return session
  if (session.playing) return { status: 200, headers: { Range: 'npt=now-', ...sessionHeader(context, session) } }
  if (!session.started && session.mount.isFullFor(context.client, context.limits)) return { status: 453 }
  const info = rtpInfo(context, session, target, session.play())
  return {
    status: 200,
    headers: { Range: 'npt=now-', 'RTP-Info': info, ...sessionHeader(context, session) },
    afterWrite: () => session.begin(),
  }
}

/** The RTP-Info header (RFC 2326 section 12.33). */
const rtpInfo = (
  context: RequestConnection,
  session: ServerSession,
  target: RequestTarget,
  starts: readonly (TrackStart | undefined)[],
): string => {
  const base = baseUrl(context, { ...target, mountPath: session.mount.path })
  return starts
    .flatMap((start, at) => {
      if (!start) return []
      const sequence = start.sequence === undefined ? '' : `;seq=${start.sequence}`
      return [`url=${base}/${trackControl(at)}${sequence};rtptime=${start.timestamp}`]
    })
    .join(',')
}

const pause: RequestHandler = (context, request, target) => {
  const session = aggregateSession(context, request, target)
  if ('status' in session) return session
  if (!session.started) return { status: 455 }
  session.pause()
  return { status: 200, headers: sessionHeader(context, session) }
}

const teardown: RequestHandler = (context, request, target) => {
  const session = aggregateSession(context, request, target)
  if ('status' in session) return session
  session.pause()
  return { status: 200, headers: { Session: session.id }, afterWrite: () => session.end() }
}

const parameter: RequestHandler = (context, request) => {
  const session = sessionOf(context, request)
  if (session === 'unknown') return { status: 454 }
  // Without a body this is a keepalive; there are no parameters.
  return request.body.length === 0 ? { status: 200, headers: sessionHeader(context, session) } : { status: 451 }
}

const HANDLERS: Readonly<Record<string, RequestHandler>> = {
  OPTIONS: options,
  DESCRIBE: describe,
  SETUP: setup,
  PLAY: play,
  PAUSE: pause,
  TEARDOWN: teardown,
  GET_PARAMETER: parameter,
  SET_PARAMETER: parameter,
}

/** The session for PLAY, PAUSE and TEARDOWN. All tracks play together: one of several cannot be addressed alone (RFC 2326 section 10.5). */
const aggregateSession = (context: RequestConnection, request: RtspRequest, target: RequestTarget): ServerSession | OutgoingResponse => {
  const session = sessionOf(context, request)
  if (session === 'unknown' || session === undefined) return { status: 454 }
  if (target.mountPath !== session.mount.path) return NOT_FOUND
  if (target.control === '') return session
  const track = trackOf(target.control)
  if (track === undefined || !session.tracks.has(track)) return NOT_FOUND
  return session.tracks.size > 1 ? { status: 460 } : session
}

const baseUrl = (context: RequestConnection, target: RequestTarget): string =>
  `${context.secure ? 'rtsps' : 'rtsp'}://${target.authority || context.localAuthority}/${target.mountPath}`
