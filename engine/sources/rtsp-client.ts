import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { redact } from '../../lib/redact.ts'
import { Fault } from '../fault.ts'
import { formatRequest } from '../rtsp/protocol/format-message.ts'
import type { RtspResponse } from '../rtsp/protocol/message.ts'
import { MessageParser } from '../rtsp/protocol/message-parser.ts'
import { parseSdp, type SessionDescription } from '../rtsp/protocol/sdp.ts'
import { type Address, parseAddress } from './address.ts'
import { authorize, type Credentials, isStale } from './authorization.ts'

const DEFAULT_PORT: Readonly<Record<string, number>> = { rtsps: 322 }
const MAX_REDIRECTS = 3
/** DESCRIBE, its answer to the challenge, the same on a new connection, and the answer to a nonce that has become stale. */
const MAX_TRIES = 4

export interface DescribeOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/**
 * Asks an RTSP server what it serves (DESCRIBE, RFC 2326 section 10.2), with Basic or Digest credentials and redirects.
 * Nothing is set up, so closing the connection is all the goodbye there is. Throws Fault in words for users.
 *
 * The certificate of rtsps:// is not verified: cameras sign their own. TLS hides the stream, it does not prove who sends it.
 */
export const describe = async (address: Address, options: DescribeOptions): Promise<SessionDescription> => {
  const deadline = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)])
  let target = address
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await ask(target, deadline, options)
    const location = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || location === undefined) return readAnswer(target, response)
    target = redirectTo(target, location)
  }
  throw new Fault('source_error', `${name(address)} redirects in circles.`)
}

/** The address in messages: without credentials, also those in its query. */
const name = (address: Address): string => redact(address.bare)

const redirectTo = (from: Address, location: string): Address => {
  const to = parseAddress(location.startsWith('/') ? `${from.bare.replace(/^([a-z]+:\/\/[^/]*).*$/, '$1')}${location}` : location)
  if (!/^rtsp[st]?$/.test(to.scheme)) throw new Fault('unsupported', `${name(from)} redirects to an address that is not RTSP.`)
  // Credentials are for the host that the user named, not for any other.
  return to.host === from.host ? { ...to, user: to.user ?? from.user, password: to.password ?? from.password } : to
}

const ask = async (address: Address, deadline: AbortSignal, options: DescribeOptions): Promise<RtspResponse> => {
  let authorization: string | undefined
  let connection: Connection | undefined
  try {
    for (let tries = 1; ; tries++) {
      connection ??= await open(address, deadline)
      const response: RtspResponse | undefined = await connection
        .request('DESCRIBE', requestUrl(address), tries, authorization)
        .catch((error: unknown) => {
          if (tries === 1 || tries >= MAX_TRIES || deadline.aborted) throw error
          return undefined
        })
      if (response === undefined) {
        // Some cameras close after a challenge, and want the answer to it on a new connection.
        connection.close()
        connection = undefined
        continue
      }
      if (response.status !== 401 || tries >= MAX_TRIES) return response
      const challenges = response.headers.all('www-authenticate')
      const credentials: Credentials | undefined =
        address.user === undefined ? undefined : { user: address.user, password: address.password ?? '' }
      if (credentials === undefined || (authorization !== undefined && !isStale(challenges))) return response
      authorization = authorize(challenges, credentials, { method: 'DESCRIBE', uri: requestUrl(address) })
      if (authorization === undefined) return response
    }
  } catch (error) {
    throw toFault(error, address, deadline, options)
  } finally {
    connection?.close()
  }
}

const requestUrl = ({ bare }: Address): string => bare.replace(/^rtspt:/, 'rtsp:')

interface Connection {
  request(method: string, url: string, cseq: number, authorization: string | undefined): Promise<RtspResponse>
  close(): void
}

const open = async (address: Address, deadline: AbortSignal): Promise<Connection> => {
  const port = address.port ?? DEFAULT_PORT[address.scheme] ?? 554
  const socket = await connected(address, port, deadline)
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

const connected = (address: Address, port: number, deadline: AbortSignal): Promise<Socket> =>
  new Promise((resolve, reject) => {
    deadline.throwIfAborted()
    const { host } = address
    const secure = address.scheme === 'rtsps'
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
      // An error between two requests shows at the next one, which finds the socket destroyed.
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
        // Requests of the server and stray media are no answer.
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

const toFault = (error: unknown, address: Address, deadline: AbortSignal, options: DescribeOptions): unknown => {
  if (error instanceof Fault || options.signal.aborted) return error
  const where = name(address)
  if (deadline.aborted) {
    return new Fault('timeout', `${where} did not answer within ${Math.round(options.timeoutMs / 1000)} s.`, { cause: error })
  }
  if (error instanceof ClosedEarly) return new Fault('source_error', `${where} closed the connection without an answer.`)
  return connectionFault(error, where) ?? new Fault('source_error', `${where} does not answer in RTSP.`, { cause: error })
}

const CONNECTION_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses the connection: nothing listens at this address and port',
  ENOTFOUND: 'cannot be found: the host name has no address',
  EAI_AGAIN: 'cannot be found: the name server does not answer',
  EHOSTUNREACH: 'cannot be reached: there is no route to the host',
  ENETUNREACH: 'cannot be reached: there is no route to its network',
  ETIMEDOUT: 'does not answer: the host may be off or behind a firewall',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  EADDRNOTAVAIL: 'cannot be reached from this host',
}

/** What a failed socket means to a user; undefined when it is not the network's fault. */
export const connectionFault = (error: unknown, where: string): Fault | undefined => {
  // A name with several addresses fails with one error for each of them.
  const first = error instanceof AggregateError ? error.errors[0] : error
  const code = first instanceof Error && 'code' in first ? String(first.code) : ''
  const words = CONNECTION_FAULTS[code]
  return words === undefined ? undefined : new Fault('unreachable', `${where} ${words}.`, { cause: error })
}

const readAnswer = (address: Address, response: RtspResponse): SessionDescription => {
  const fault = statusFault(response.status, name(address), address.user !== undefined)
  if (fault !== undefined) throw fault
  try {
    return parseSdp(response.body.toString('utf8'))
  } catch (error) {
    throw new Fault('source_error', `${name(address)} answers with a stream description that cannot be read.`, { cause: error })
  }
}

/** What a status of RTSP or HTTP means to a user; undefined for success. */
export const statusFault = (status: number, where: string, hasCredentials: boolean): Fault | undefined => {
  if (status >= 200 && status < 300) return undefined
  if (status === 401 && !hasCredentials) {
    const advice = 'put them into source.uri in front of the host, as user:password@'
    return new Fault('unauthorized', `The source at ${where} asks for a user name and password (401): ${advice}`)
  }
  if (status === 401) return new Fault('unauthorized', `The source at ${where} refuses the user name or password (401).`)
  if (status === 403) return new Fault('unauthorized', `The source at ${where} does not allow this user to read it (403).`)
  if (status === 404 || status === 410) {
    return new Fault('not_found', `There is no stream at ${where} (${status}). Check the path, and that something publishes to it.`)
  }
  if (status >= 500) return new Fault('source_error', `The source at ${where} failed (${status}).`)
  return new Fault('source_error', `The source at ${where} refuses the request (${status}).`)
}
