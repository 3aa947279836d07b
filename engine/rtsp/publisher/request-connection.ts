import type { Log } from '../../../lib/ports.ts'
import type { PublisherLimits } from '../../mount/limits.ts'
import type { MountPoint } from '../../mount/mount-point.ts'
import type { Gate } from '../access/authenticator.ts'
import type { HeaderFields } from '../protocol/format-message.ts'
import { parseSession } from '../protocol/header-fields.ts'
import type { RtspRequest } from '../protocol/message.ts'
import type { RequestTarget } from '../protocol/request-url.ts'
import type { ServerSession } from './server-session.ts'

/** The connection of a request, as request handlers use it. */
export interface RequestConnection {
  readonly log: Log
  readonly limits: PublisherLimits
  readonly localAddress: string
  readonly remoteAddress: string
  /** The address as limits count it. */
  readonly client: string
  /** Inside TLS. */
  readonly secure: boolean
  /** Only TLS is allowed, and this connection does not use it. */
  readonly needsTls: boolean
  readonly gate: Gate
  /** `host:port` of the server's end. */
  readonly localAuthority: string
  /** Aborted when the connection has closed. */
  readonly signal: AbortSignal
  readonly session: ServerSession | undefined
  /** The latest description did not state the frame rate. */
  guessesRate: boolean
  findMount(path: string): MountPoint | undefined
  mayOpenUdp(): boolean
  createSession(mount: MountPoint): ServerSession
}

export interface OutgoingResponse {
  readonly status: number
  readonly headers?: HeaderFields
  readonly body?: string
  /** Closes the connection after the response. */
  readonly close?: boolean
  /** Runs right after the response has been written. */
  readonly afterWrite?: () => void
}

/** Handles the requests of one method. */
export type RequestHandler = (
  context: RequestConnection,
  request: RtspRequest,
  target: RequestTarget,
) => OutgoingResponse | Promise<OutgoingResponse>

export const NOT_FOUND: OutgoingResponse = { status: 404 }

/** The session that a request names; `unknown` when it names one of another connection, or none that exists. */
export const sessionOf = (context: RequestConnection, request: RtspRequest): ServerSession | 'unknown' | undefined => {
  const id = parseSession(request.headers.get('session'))?.id
  if (id === undefined) return undefined
  return context.session?.id === id ? context.session : 'unknown'
}

/** The Session header (RFC 2326 section 12.37) with its timeout in seconds; none without a session. */
export const sessionHeader = (context: RequestConnection, session: ServerSession | undefined): HeaderFields =>
  session ? { Session: `${session.id};timeout=${Math.round(context.limits.sessionTimeoutMs / 1000)}` } : {}
