import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Fault } from '../fault.ts'
import { formatRequest } from '../rtsp/protocol/format-message.ts'
import type { RtspResponse } from '../rtsp/protocol/message.ts'
import { MessageParser } from '../rtsp/protocol/message-parser.ts'
import { parseSdp, type SessionDescription } from '../rtsp/protocol/sdp.ts'
import { type Address, RTSPS_PORT, redirectedAddress } from './address.ts'
import { authorize, type Credentials, isStale } from './authorization.ts'
import { requestFault, type SourceRequest, statusFault } from './network-faults.ts'

const RTSP = { name: 'RTSP', schemes: ['rtsp', 'rtsps', 'rtspt'] } as const
const MAX_REDIRECTS = 3
/** The first DESCRIBE, the one with credentials, the same on a new connection, and the one that answers a stale nonce. */
const MAX_TRIES = 4

/** A session description, and the address it came from. */
interface Described {
  readonly sdp: SessionDescription
  readonly address: Address
}

/**
 * Requests the session description of an RTSP source (DESCRIBE, RFC 2326 section 10.2), with Basic or Digest credentials and
 * redirects. No session is set up, so closing the connection is enough. Throws Fault.
 *
 * The certificate of rtsps:// is not verified: cameras sign their own. TLS hides the stream, it does not prove who sends it.
 */
export const describeSource = async (
  address: Address,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Described> => {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  let target = address
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await requestDescription(target, { source: target.shown, protocol: 'RTSP', signal, deadline, timeoutMs })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || location === undefined) {
      return { sdp: readDescription(target, response), address: target }
    }
    target = redirectedAddress(target, absoluteLocation(target, location), RTSP)
  }
  throw new Fault('source_error', `${address.shown} redirects too often. Use the final address as source.uri.`)
}

const absoluteLocation = (from: Address, location: string): string =>
  location.startsWith('/') ? `${from.bare.replace(/^([a-z]+:\/\/[^/]*).*$/, '$1')}${location}` : location

/** The response to DESCRIBE at one address, authorized when the server requires it. */
const requestDescription = async (address: Address, request: SourceRequest): Promise<RtspResponse> => {
  const { deadline } = request
  const url = address.bare.replace(/^rtspt:/, 'rtsp:')
  let authorization: string | undefined
  let client: RtspClient | undefined
  try {
    for (let tries = 1; ; tries++) {
      client ??= await connectClient(address, deadline)
      const response: RtspResponse | undefined = await client.request('DESCRIBE', url, tries, authorization).catch((error: unknown) => {
        if (tries === 1 || tries >= MAX_TRIES || deadline.aborted) throw error
        return undefined
      })
      if (response === undefined) {
        // Some cameras close the connection after a 401 and expect the credentials on a new one.
        client.close()
        client = undefined
        continue
      }
      if (response.status !== 401 || tries >= MAX_TRIES) return response
      const challenges = response.headers.all('www-authenticate')
      const credentials: Credentials | undefined =
        address.user === undefined ? undefined : { user: address.user, password: address.password ?? '' }
      if (credentials === undefined || (authorization !== undefined && !isStale(challenges))) return response
      authorization = authorize(challenges, credentials, { method: 'DESCRIBE', uri: url })
      if (authorization === undefined) return response
    }
  } catch (error) {
    const closed = error instanceof ClosedEarly && !deadline.aborted
    throw closed ? new Fault('source_error', `${address.shown} closed the connection without an answer.`) : requestFault(error, request)
  } finally {
    client?.close()
  }
}

interface RtspClient {
  request(method: string, url: string, cseq: number, authorization: string | undefined): Promise<RtspResponse>
  close(): void
}

const connectClient = async (address: Address, deadline: AbortSignal): Promise<RtspClient> => {
  const socket = await openSocket(address, deadline)
  const parser = new MessageParser()
  return {
    close: () => socket.destroy(),
    request: async (method, url, cseq, authorization) => {
      if (socket.destroyed) throw new ClosedEarly()
      const headers = { CSeq: cseq, Accept: 'application/sdp', 'User-Agent': 'video-pipeline-service', Authorization: authorization }
      socket.write(formatRequest(method, url, headers))
      return readResponse(socket, parser, deadline)
    },
  }
}

const openSocket = ({ scheme, host, port: given }: Address, deadline: AbortSignal): Promise<Socket> =>
  new Promise((resolve, reject) => {
    deadline.throwIfAborted()
    const secure = scheme === 'rtsps'
    const port = given ?? (secure ? RTSPS_PORT : 554)
    const socket = secure
      ? connectTls({ host, port, rejectUnauthorized: false, ...(isIP(host) === 0 && { servername: host }) })
      : connect({ host, port })
    const onAbort = (): void => fail(deadline.reason)
    const fail = (reason: unknown): void => {
      deadline.removeEventListener('abort', onAbort)
      socket.destroy()
      reject(reason)
    }
    deadline.addEventListener('abort', onAbort)
    socket.once('error', fail)
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      deadline.removeEventListener('abort', onAbort)
      socket.removeListener('error', fail)
      // After an error between two requests, the next one finds the socket destroyed.
      socket.on('error', () => {})
      resolve(socket)
    })
  })

class ClosedEarly extends Error {}

const readResponse = (socket: Socket, parser: MessageParser, deadline: AbortSignal): Promise<RtspResponse> =>
  new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      socket.off('data', onData)
      socket.off('error', onError)
      socket.off('close', onClose)
      deadline.removeEventListener('abort', onAbort)
      settle()
    }
    const onAbort = (): void => finish(() => reject(deadline.reason))
    const onError = (error: Error): void => finish(() => reject(error))
    const onClose = (): void => finish(() => reject(new ClosedEarly()))
    const onData = (chunk: Buffer): void => {
      try {
        // The server may also send requests and interleaved media.
        const response = parser.push(chunk).find((message) => message.kind === 'response')
        if (response !== undefined) finish(() => resolve(response))
      } catch (error) {
        finish(() => reject(error))
      }
    }
    if (deadline.aborted) return reject(deadline.reason)
    socket.on('data', onData)
    socket.once('error', onError)
    socket.once('close', onClose)
    deadline.addEventListener('abort', onAbort)
  })

const readDescription = (address: Address, response: RtspResponse): SessionDescription => {
  const fault = statusFault(response.status, address.shown, address.user !== undefined)
  if (fault !== undefined) throw fault
  try {
    return parseSdp(response.body.toString('utf8'))
  } catch (error) {
    throw new Fault('source_error', `${address.shown} sends a session description that cannot be parsed.`, { cause: error })
  }
}
