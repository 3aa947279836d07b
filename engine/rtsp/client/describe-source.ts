import { type Address, redirectedAddress } from '../../faults/address.ts'
import { Fault } from '../../faults/fault.ts'
import { requestFault, type SourceRequest, statusFault } from '../../faults/network-faults.ts'
import type { RtspResponse } from '../protocol/message.ts'
import { parseSdp, type SessionDescription } from '../protocol/sdp.ts'
import { Authorizer } from './authorizer.ts'
import { ClientConnection, ClosedEarly } from './client-connection.ts'

const RTSP = { name: 'RTSP', schemes: ['rtsp', 'rtsps', 'rtspt'] } as const
const MAX_REDIRECTS = 3
/** The first DESCRIBE, with credentials, again on a new connection, and after a stale nonce. */
const MAX_TRIES = 4

/** A session description, where it came from, and the connection over which it came. */
export interface Described {
  readonly sdp: SessionDescription
  readonly address: Address
  /** Base of the control attributes of the description (RFC 2326 appendix C.1.1). */
  readonly base: string
  /** The Server field; empty when there is none. */
  readonly server: string
  /** Open; the caller closes it. */
  readonly connection: ClientConnection
  readonly authorizer: Authorizer
}

interface DescribeOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/**
 * Requests the session description of an RTSP source (DESCRIBE, RFC 2326 section 10.2), with Basic or Digest credentials and
 * redirects. No session is set up, so closing the connection is enough. Throws Fault.
 */
export const describeSource = async (address: Address, { signal, timeoutMs }: DescribeOptions): Promise<Described> => {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  let target = address
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const answered = await requestDescription(target, { source: target.shown, protocol: 'RTSP', signal, deadline, timeoutMs })
    const { response, connection, authorizer } = answered
    try {
      const location = response.headers.get('location')
      if (response.status < 300 || response.status >= 400 || location === undefined) {
        const sdp = readDescription(target, response)
        const base = baseOf(response, requestUrl(target))
        return { sdp, address: target, base, server: response.headers.get('server') ?? '', connection, authorizer }
      }
      target = redirectedAddress(target, absoluteLocation(target, location), RTSP)
    } catch (error) {
      connection.close()
      throw error
    }
    connection.close()
  }
  throw new Fault('source_error', `${address.shown} redirects too often. Use the final address as source.uri.`)
}

const absoluteLocation = (from: Address, location: string): string =>
  location.startsWith('/') ? `${/^[a-z]+:\/\/[^/]*/.exec(from.bare)?.[0] ?? ''}${location}` : location

/** The address as a request names it. */
export const requestUrl = (address: Address): string => address.bare.replace(/^rtspt:/, 'rtsp:')

const baseOf = ({ headers }: RtspResponse, url: string): string => headers.get('content-base') ?? headers.get('content-location') ?? url

interface Answered {
  readonly response: RtspResponse
  readonly connection: ClientConnection
  readonly authorizer: Authorizer
}

/** The response to DESCRIBE at one address, authorized when the server requires it. */
const requestDescription = async (address: Address, request: SourceRequest): Promise<Answered> => {
  const { deadline } = request
  const url = requestUrl(address)
  const authorizer = new Authorizer(address.user === undefined ? undefined : { user: address.user, password: address.password ?? '' })
  let connection: ClientConnection | undefined
  try {
    for (let tries = 1; ; tries++) {
      connection ??= await ClientConnection.open(address, deadline)
      const headers = { Accept: 'application/sdp', Authorization: authorizer.header('DESCRIBE', url) }
      const response: RtspResponse | undefined = await connection.request('DESCRIBE', url, headers, deadline).catch((error: unknown) => {
        if (tries === 1 || tries >= MAX_TRIES || deadline.aborted) throw error
        return undefined
      })
      if (response === undefined) {
        // Some cameras close the connection after a 401 and expect the credentials on a new one.
        connection.close()
        connection = undefined
        continue
      }
      const repeat = response.status === 401 && tries < MAX_TRIES && authorizer.challenge(response.headers.all('www-authenticate'))
      if (repeat) continue
      if (response.status < 300) authorizer.accepted()
      return { response, connection, authorizer }
    }
  } catch (error) {
    connection?.close()
    const closed = error instanceof ClosedEarly && !deadline.aborted
    throw closed ? new Fault('source_error', `${address.shown} closed the connection without an answer.`) : requestFault(error, request)
  }
}

const readDescription = (address: Address, response: RtspResponse): SessionDescription => {
  const fault = statusFault(response.status, address.shown, address.user !== undefined)
  if (fault !== undefined) throw fault
  try {
    return parseSdp(response.body.toString('utf8'))
  } catch (error) {
    throw new Fault('source_error', `${address.shown} sends a session description that cannot be parsed.`, { cause: error })
  }
}
