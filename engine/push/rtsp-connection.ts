import { type Address, parseAddress } from '../faults/address.ts'
import { hostAuthorities } from '../fetch/host-authorities.ts'
import type { TsFeed } from '../formats/ts-feed.ts'
import { sameFormat } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { Authorizer } from '../rtsp/client/authorizer.ts'
import { ClientConnection, IGNORE } from '../rtsp/client/client-connection.ts'
import { ClientSession } from '../rtsp/client/client-session.ts'
import { requestUrl } from '../rtsp/client/describe-source.ts'
import { keepAlive } from '../rtsp/client/keep-alive.ts'
import type { RtspResponse } from '../rtsp/protocol/message.ts'
import { parseChannels } from '../rtsp/protocol/transport.ts'
import { streamsSdp, trackControl } from '../rtsp/publisher/mount-sdp.ts'
import { InterleavedSink } from '../rtsp/publisher/sinks/interleaved-sink.ts'
import { CHECK_MS, type ConnectionEnd, type PushConnection, STALLED_SECONDS } from './connection.ts'
import { notTaken, receiverStalled } from './faults.ts'
import { brokenBy, refusedBy } from './rtsp-faults.ts'
import { openTrackFeed } from './track-feed.ts'

/** From connecting to the answer to RECORD, seconds. */
const SET_UP_SECONDS = 10
/** How long the answer to TEARDOWN may take, milliseconds. */
const TEARDOWN_MS = 500
const UNSUPPORTED_TRANSPORT = 461

interface RtspPush extends PushConnection {
  readonly uri: string
  /** What is sent: the video first. */
  readonly streams: readonly RtpStream[]
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Sends the packets of streams to an RTSP server, inside its connection: ANNOUNCE, SETUP and RECORD of RFC 2326. Never rejects. */
export const runRtspConnection = async (push: RtspPush): Promise<ConnectionEnd> => {
  const over = new AbortController()
  const { promise: ended, resolve: end } = Promise.withResolvers<ConnectionEnd>()
  const onAbort = (): void => end('stopped')
  push.signal.addEventListener('abort', onAbort)
  if (push.signal.aborted) onAbort()
  // The description of the receiver is of other formats then.
  const unsubscribe = push.streams.map((stream) =>
    stream.onCaps((caps, previous) => {
      if (previous !== undefined && !sameFormat(caps, previous)) end('renewed')
    }),
  )
  const recording = record(push, over.signal, end)
  recording.catch((error: unknown) => end(over.signal.aborted ? 'stopped' : brokenBy(error)))
  const why = await ended
  for (const stop of unsubscribe) stop()
  push.signal.removeEventListener('abort', onAbort)
  over.abort()
  await (await recording.catch(() => undefined))?.close()
  return why
}

/** Begins to send; `end` is called with why it ended. Rejects with what prevents it, after which nothing is left. */
const record = async (
  { uri, streams, now, log, onStart, onSending }: RtspPush,
  signal: AbortSignal,
  end: (why: ConnectionEnd) => void,
): Promise<{ close: () => Promise<void> }> => {
  const { connection, session, channels } = await setUp(parseAddress(uri), streams, signal)
  void connection.closed.then((error) => end(brokenBy(error)))
  const feed = openTrackFeed(streams, new InterleavedSink(connection.out, channels), now)
  log('engine', `sends ${streams.map(({ caps }) => caps?.encodingName).join(' and ')} over TCP`)
  onStart(feed)
  keepAlive(session, signal)
  const timer = watch(feed, onSending, end)
  return {
    close: async () => {
      clearInterval(timer)
      feed.close()
      await session.tearDown(AbortSignal.timeout(TEARDOWN_MS))
      connection.close()
    },
  }
}

const watch = (feed: TsFeed, onSending: () => void, end: (why: ConnectionEnd) => void): NodeJS.Timeout => {
  let sending = false
  return setInterval(() => {
    const stuckMs = feed.stuckSinceMs === undefined ? 0 : performance.now() - feed.stuckSinceMs
    if (stuckMs > STALLED_SECONDS * 1000) end(receiverStalled(STALLED_SECONDS))
    // A receiver that refuses the first packets has closed the connection by now.
    if (sending || feed.bytes === 0 || stuckMs > CHECK_MS) return
    sending = true
    onSending()
  }, CHECK_MS)
}

interface SetUp {
  readonly connection: ClientConnection
  readonly session: ClientSession
  /** Interleaved channel of each stream. */
  readonly channels: readonly number[]
}

/** A connection whose server takes the streams. Throws Fault, and errors of the connection. */
const setUp = async (address: Address, streams: readonly RtpStream[], signal: AbortSignal): Promise<SetUp> => {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(SET_UP_SECONDS * 1000)])
  let connection: ClientConnection | undefined
  try {
    connection = await ClientConnection.open(address, deadline, { sends: true, authorities: hostAuthorities() })
    return { connection, ...(await negotiate(connection, { address, streams, deadline })) }
  } catch (error) {
    connection?.close()
    throw deadline.aborted && !signal.aborted ? notTaken(SET_UP_SECONDS) : error
  }
}

interface Negotiation {
  readonly address: Address
  readonly streams: readonly RtpStream[]
  readonly deadline: AbortSignal
}

const negotiate = async (connection: ClientConnection, { address, streams, deadline }: Negotiation): Promise<Omit<SetUp, 'connection'>> => {
  const { user, password = '' } = address
  const base = requestUrl(address)
  const authorizer = new Authorizer(user === undefined ? undefined : { user, password })
  const sdp = { attributes: [], media: [] }
  const session = new ClientSession({ sdp, address, base, server: '', connection, authorizer }, deadline)
  connection.handlers = { ...IGNORE, onRequest: (request) => connection.respond(request, request.method === 'OPTIONS' ? 200 : 501) }
  const text = streamsSdp(streams, { host: connection.addresses.local, name: '-' })
  require2xx(await session.send('ANNOUNCE', base, { 'Content-Type': 'application/sdp' }, deadline, text))
  const channels: number[] = []
  for (const at of streams.keys()) {
    const asked = { rtp: 2 * at, rtcp: 2 * at + 1 }
    const response = await session.setUpToSend(trackControl(at), asked)
    require2xx(response)
    const given = parseChannels(response.headers.get('transport'), asked)
    if (given === undefined) throw refusedBy(UNSUPPORTED_TRANSPORT)
    channels.push(given.rtp)
  }
  require2xx(await session.record())
  return { session, channels }
}

const require2xx = ({ status }: RtspResponse): void => {
  if (status < 200 || status >= 300) throw refusedBy(status)
}
