import { ApiError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/ports.ts'
import type { HeaderFields, RtspRequest } from '../protocol/message.ts'
import { parseTransport, type TransportRequest } from '../protocol/transport.ts'
import type { PublisherLimits } from './limits.ts'
import type { MountPoint } from './mount.ts'
import { mountSdp, trackControl, trackOf } from './mount-sdp.ts'
import type { TrackStart } from './reader.ts'
import type { RtspSession, TrackTransport } from './session.ts'
import { bindUdpPair, connectUdp } from './sinks/udp-ports.ts'

export interface Answer {
  readonly status: number
  readonly headers?: HeaderFields
  readonly body?: string
  /** Runs right after the answer has been written. */
  readonly afterwards?: () => void
}

/** What an answer needs to know of the connection it goes to, and may change there. */
export interface Requester {
  readonly log: Log
  readonly limits: PublisherLimits
  readonly localAddress: string
  readonly remoteAddress: string
  /** `host:port` of this end. */
  readonly localAuthority: string
  /** Aborted when the connection is gone. */
  readonly signal: AbortSignal
  readonly session: RtspSession | undefined
  findMount(path: string): MountPoint | undefined
  mayOpenUdp(): boolean
  createSession(mount: MountPoint): RtspSession
}

type Handler = (connection: Requester, request: RtspRequest, target: Target) => Answer | Promise<Answer>

/** What a request URL names. */
export interface Target {
  /** `host:port` as the client wrote it, free of anything but an address. */
  readonly authority: string
  readonly mountPath: string
  /** The rest behind the mount's path: empty for the aggregate, else a track. */
  readonly control: string
}

const URL_PATTERN = /^rtsp[su]?:\/\/(?:[^/?#@]*@)?([A-Za-z0-9.:%_[\]-]{0,255})(?:\/([^?#]*))?(?:[?#].*)?$/i

/** Splits a request URL into mount and track; undefined when it is no RTSP URL. */
export const parseTarget = (url: string): Target | undefined => {
  if (url === '*') return { authority: '', mountPath: '', control: '' }
  const match = URL_PATTERN.exec(url)
  if (!match) return undefined
  const [mountPath = '', ...rest] = (match[2] ?? '').split('/')
  return { authority: match[1] ?? '', mountPath, control: rest.join('/').replace(/\/+$/, '') }
}

const NOT_FOUND: Answer = { status: 404 }
const METHODS = 'OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER'

const options: Handler = (connection, request) => {
  const session = sessionOf(connection, request)
  return session === 'unknown' ? { status: 454 } : { status: 200, headers: { Public: METHODS, ...sessionHeader(connection, session) } }
}

const describe: Handler = async (connection, request, target) => {
  const accept = request.headers.get('accept')
  if (accept !== undefined && !/application\/sdp|application\/\*|\*\/\*/i.test(accept)) return { status: 406 }
  const mount = connection.findMount(target.mountPath)
  if (mount === undefined || target.control !== '') return NOT_FOUND
  const refusal = await mount.untilReady(connection.signal).then(() => undefined, refuseStart)
  if (mount.closed) return NOT_FOUND
  if (refusal !== undefined) return refusal
  const body = mountSdp(mount, connection.localAddress)
  if (body === undefined) return { status: 503, headers: { 'Retry-After': 1 } }
  return { status: 200, headers: { 'Content-Type': 'application/sdp', 'Content-Base': `${baseUrl(connection, target)}/` }, body }
}

/** A start that failed, in the statuses that RTSP has: 402 (license), 404 (the pipeline is gone), 504, else 503. */
const refuseStart = (error: unknown): Answer => {
  const status = error instanceof ApiError ? error.status : 503
  return status === 402 || status === 404 || status === 504 ? { status } : { status: 503, headers: { 'Retry-After': 1 } }
}

const setup: Handler = async (connection, request, target) => {
  const existing = sessionOf(connection, request)
  if (existing === 'unknown') return { status: 454 }
  const mount = connection.findMount(target.mountPath)
  if (mount === undefined) return NOT_FOUND
  const track = trackToSetUp(mount, target)
  if (typeof track !== 'number') return track
  const transport = parseTransport(request.headers.get('transport') ?? '')
  if (transport === undefined) return { status: 461 }
  const refusal = refuseSetup(connection, existing, mount, track, transport)
  if (refusal) return refusal
  const opened = await openTransport(connection, existing, transport)
  if (opened === undefined) return { status: 453 }
  // The connection may have gone, or the mount closed, while the ports were bound.
  if (connection.signal.aborted || mount.closed) {
    opened.discard()
    return NOT_FOUND
  }
  const session = existing ?? connection.createSession(mount)
  session.setUp(track, opened.track)
  const ssrc = mount.options.streams[track]?.ssrc.toString(16).padStart(8, '0').toUpperCase()
  return { status: 200, headers: { Transport: `${opened.header};ssrc=${ssrc};mode="PLAY"`, ...sessionHeader(connection, session) } }
}

const trackToSetUp = (mount: MountPoint, target: Target): number | Answer => {
  const described = mount.options.streams.flatMap((stream, at) => (stream.caps ? [at] : []))
  if (target.control === '') return described.length === 1 ? (described[0] ?? 0) : { status: 459 }
  const track = trackOf(target.control)
  return track !== undefined && described.includes(track) ? track : NOT_FOUND
}

const refuseSetup = (
  connection: Requester,
  session: RtspSession | undefined,
  mount: MountPoint,
  track: number,
  transport: TransportRequest,
): Answer | undefined => {
  if (session === undefined) {
    if (connection.session !== undefined) return { status: 455 }
    return mount.full || (transport.kind === 'udp' && !connection.mayOpenUdp()) ? { status: 453 } : undefined
  }
  if (session.mount !== mount) return { status: 459 }
  if (session.started || session.tracks.has(track)) return { status: 455 }
  return session.transport === transport.kind ? undefined : { status: 461 }
}

interface OpenedTransport {
  readonly track: TrackTransport
  readonly header: string
  readonly discard: () => void
}

const openTransport = async (
  connection: Requester,
  session: RtspSession | undefined,
  wanted: TransportRequest,
): Promise<OpenedTransport | undefined> => {
  if (wanted.kind === 'interleaved') {
    const channel = freeChannel(session, wanted.channel)
    const header = `RTP/AVP/TCP;unicast;interleaved=${channel}-${channel + 1}`
    return { track: { kind: 'interleaved', channel }, header, discard: () => {} }
  }
  try {
    const pair = await bindUdpPair(connection.localAddress)
    const discard = () => {
      pair.rtp.close()
      pair.rtcp.close()
    }
    try {
      await connectUdp(pair.rtp, wanted.rtpPort, connection.remoteAddress)
      await connectUdp(pair.rtcp, wanted.rtcpPort, connection.remoteAddress)
    } catch (error) {
      discard()
      throw error
    }
    const header = `RTP/AVP;unicast;client_port=${wanted.rtpPort}-${wanted.rtcpPort};server_port=${pair.rtpPort}-${pair.rtcpPort}`
    return { track: { kind: 'udp', pair }, header, discard }
  } catch (error) {
    connection.log.warn('rtsp_udp_unavailable', { message: error instanceof Error ? error.message : String(error) })
    return undefined
  }
}

/** The channel asked for, unless a track has it or its neighbour; then the lowest free even one. */
const freeChannel = (session: RtspSession | undefined, wanted: number | undefined): number => {
  const taken = new Set<number>()
  for (const track of session?.tracks.values() ?? []) {
    if (track.kind === 'interleaved') taken.add(track.channel).add(track.channel + 1)
  }
  const free = (channel: number) => channel < 255 && !taken.has(channel) && !taken.has(channel + 1)
  if (wanted !== undefined && free(wanted)) return wanted
  let channel = 0
  while (!free(channel)) channel += 2
  return channel
}

const play: Handler = (connection, request, target) => {
  const session = aggregateSession(connection, request, target)
  if ('status' in session) return session
  if (session.playing) return { status: 200, headers: { Range: 'npt=now-', ...sessionHeader(connection, session) } }
  if (!session.started && session.mount.full) return { status: 453 }
  const info = rtpInfo(connection, session, target, session.play())
  return {
    status: 200,
    headers: { Range: 'npt=now-', 'RTP-Info': info, ...sessionHeader(connection, session) },
    afterwards: () => session.begin(),
  }
}

const rtpInfo = (connection: Requester, session: RtspSession, target: Target, starts: readonly (TrackStart | undefined)[]): string => {
  const base = `${baseUrl(connection, { ...target, mountPath: session.mount.path })}`
  return starts
    .flatMap((start, at) => {
      if (!start) return []
      const sequence = start.sequence === undefined ? '' : `;seq=${start.sequence}`
      return [`url=${base}/${trackControl(at)}${sequence};rtptime=${start.timestamp}`]
    })
    .join(',')
}

const pause: Handler = (connection, request, target) => {
  const session = aggregateSession(connection, request, target)
  if ('status' in session) return session
  if (!session.started) return { status: 455 }
  session.pause()
  return { status: 200, headers: sessionHeader(connection, session) }
}

const teardown: Handler = (connection, request, target) => {
  const session = aggregateSession(connection, request, target)
  if ('status' in session) return session
  session.pause()
  return { status: 200, headers: { Session: session.id }, afterwards: () => session.end() }
}

const parameter: Handler = (connection, request) => {
  const session = sessionOf(connection, request)
  if (session === 'unknown') return { status: 454 }
  // Without a body they are how a player shows that it lives; there is no parameter to read or set.
  return request.body.length === 0 ? { status: 200, headers: sessionHeader(connection, session) } : { status: 451 }
}

/** Every track plays and pauses together: a single one of several may not be asked for (RFC 2326 section 10.5). */
const aggregateSession = (connection: Requester, request: RtspRequest, target: Target): RtspSession | Answer => {
  const session = sessionOf(connection, request)
  if (session === 'unknown' || session === undefined) return { status: 454 }
  if (target.mountPath !== session.mount.path) return NOT_FOUND
  if (target.control === '') return session
  const track = trackOf(target.control)
  if (track === undefined || !session.tracks.has(track)) return NOT_FOUND
  return session.tracks.size > 1 ? { status: 460 } : session
}

/** The session a request names; `unknown` when it names one that is not this connection's. */
const sessionOf = (connection: Requester, request: RtspRequest): RtspSession | 'unknown' | undefined => {
  const id = request.headers.get('session')?.split(';', 1)[0]?.trim()
  if (id === undefined) return undefined
  return connection.session?.id === id ? connection.session : 'unknown'
}

const sessionHeader = (connection: Requester, session: RtspSession | undefined): HeaderFields =>
  session ? { Session: `${session.id};timeout=${Math.round(connection.limits.sessionTimeoutMs / 1000)}` } : {}

const baseUrl = (connection: Requester, target: Target): string =>
  `rtsp://${target.authority || connection.localAuthority}/${target.mountPath}`

const HANDLERS: Readonly<Record<string, Handler>> = {
  OPTIONS: options,
  DESCRIBE: describe,
  SETUP: setup,
  PLAY: play,
  PAUSE: pause,
  TEARDOWN: teardown,
  GET_PARAMETER: parameter,
  SET_PARAMETER: parameter,
}

/** Methods of the standard that a publisher has no use for. */
const REFUSED_METHODS = new Set(['ANNOUNCE', 'RECORD', 'REDIRECT'])

/** Answers one request (RFC 2326 section 10). */
export const answerRequest = async (connection: Requester, request: RtspRequest): Promise<Answer> => {
  if (request.version !== '1.0') return { status: 505 }
  if (!/^\d{1,10}$/.test(request.headers.get('cseq') ?? '')) return { status: 400 }
  const required = request.headers.get('require') ?? request.headers.get('proxy-require')
  if (required !== undefined) return { status: 551, headers: { Unsupported: required } }
  if (REFUSED_METHODS.has(request.method)) return { status: 405, headers: { Allow: METHODS } }
  const handler = Object.hasOwn(HANDLERS, request.method) ? HANDLERS[request.method] : undefined
  if (handler === undefined) return { status: 501, headers: { Public: METHODS } }
  const target = parseTarget(request.url)
  if (target === undefined) return { status: 400 }
  return handler(connection, request, target)
}
