import type { MountPoint } from '../../mount/mount-point.ts'
import type { RequestTarget } from '../protocol/request-url.ts'
import { parseTransport, type TransportRequest } from '../protocol/transport.ts'
import { trackOf } from './mount-sdp.ts'
import {
  NOT_FOUND,
  type OutgoingResponse,
  type RequestConnection,
  type RequestHandler,
  sessionHeader,
  sessionOf,
} from './request-connection.ts'
import type { ServerSession, TrackTransport } from './server-session.ts'
import { closeUdpPair, openUdpPair } from './sinks/udp-pair.ts'

/** SETUP (RFC 2326 section 10.4): opens the transport of one track, and the session with the first. */
export const setup: RequestHandler = async (context, request, target) => {
  const existing = sessionOf(context, request)
  if (existing === 'unknown') return { status: 454 }
  const mount = context.findMount(target.mountPath)
  if (mount === undefined) return NOT_FOUND
  const track = findTrack(mount, target)
  if (typeof track !== 'number') return track
  // A session inside TLS must not send its video in the clear.
  const transport = parseTransport(request.headers.get('transport') ?? '', !context.secure)
  if (transport === undefined) return { status: 461 }
  const refusal = refuseSetup(context, existing, mount, track, transport)
  if (refusal) return refusal
  const opened = await openTransport(context, existing, transport)
  if (opened === undefined) return { status: 453 }
  // The connection or the mount may have closed while the ports were bound.
  if (context.signal.aborted || mount.closed) {
    opened.discard()
    return NOT_FOUND
  }
  const session = existing ?? context.createSession(mount)
  session.setUp(track, opened.track)
  const ssrc = mount.options.streams[track]?.ssrc.toString(16).padStart(8, '0').toUpperCase()
  return { status: 200, headers: { Transport: `${opened.header};ssrc=${ssrc};mode="PLAY"`, ...sessionHeader(context, session) } }
}

const findTrack = (mount: MountPoint, target: RequestTarget): number | OutgoingResponse => {
  const described = mount.tracks.flatMap(({ at, stream }) => (stream.caps ? [at] : []))
  if (target.control === '') return described.length === 1 ? (described[0] ?? 0) : { status: 459 }
  const track = trackOf(target.control)
  return track !== undefined && described.includes(track) ? track : NOT_FOUND
}

const refuseSetup = (
  context: RequestConnection,
  session: ServerSession | undefined,
  mount: MountPoint,
  track: number,
  transport: TransportRequest,
): OutgoingResponse | undefined => {
  if (session === undefined) {
    if (context.session !== undefined) return { status: 455 }
    const full = mount.isFullFor(context.client, context.limits)
    return full || (transport.kind === 'udp' && !context.mayOpenUdp()) ? { status: 453 } : undefined
  }
  if (session.mount !== mount) return { status: 459 }
  if (session.started || session.tracks.has(track)) return { status: 455 }
  return session.transport === transport.kind ? undefined : { status: 461 }
}

interface OpenedTransport {
  readonly track: TrackTransport
  /** The Transport header of the response, without SSRC and mode. */
  readonly header: string
  readonly discard: () => void
}

const openTransport = async (
  context: RequestConnection,
  session: ServerSession | undefined,
  requested: TransportRequest,
): Promise<OpenedTransport | undefined> => {
  if (requested.kind === 'interleaved') {
    const channel = freeChannel(session, requested.channel)
    const header = `RTP/AVP/TCP;unicast;interleaved=${channel}-${channel + 1}`
    return { track: { kind: 'interleaved', channel }, header, discard: () => {} }
  }
  try {
    const { localAddress, remoteAddress } = context
    const pair = await openUdpPair({ localAddress, remoteAddress, ...requested })
    const header = `RTP/AVP;unicast;client_port=${requested.rtpPort}-${requested.rtcpPort};server_port=${pair.rtp.port}-${pair.rtcpPort}`
    return { track: { kind: 'udp', pair }, header, discard: () => closeUdpPair(pair) }
  } catch (error) {
    context.log.warn('rtsp_udp_unavailable', { message: error instanceof Error ? error.message : String(error) })
    return undefined
  }
}

/** The requested channel, unless another track uses it or the next one; then the lowest free even channel. */
const freeChannel = (session: ServerSession | undefined, requested: number | undefined): number => {
  const taken = new Set<number>()
  for (const track of session?.tracks.values() ?? []) {
    if (track.kind === 'interleaved') taken.add(track.channel).add(track.channel + 1)
  }
  const free = (channel: number) => channel < 255 && !taken.has(channel) && !taken.has(channel + 1)
  if (requested !== undefined && free(requested)) return requested
  let channel = 0
  while (!free(channel)) channel += 2
  return channel
}
