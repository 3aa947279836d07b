import { Fault } from './fault.ts'

/** By the `code` of a socket's error. */
const CONNECTION_FAULTS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'refuses the connection: nothing listens at this address and port'],
  ['ENOTFOUND', 'cannot be found: the host name has no address'],
  ['EAI_AGAIN', 'cannot be found: the name server does not answer'],
  ['EHOSTUNREACH', 'cannot be reached: there is no route to the host'],
  ['ENETUNREACH', 'cannot be reached: there is no route to its network'],
  ['ETIMEDOUT', 'does not answer: the host may be off or behind a firewall'],
  ['ECONNRESET', 'closed the connection'],
  ['EPIPE', 'closed the connection'],
  ['EADDRNOTAVAIL', 'cannot be reached from this host'],
])

/** Those that another attempt soon after gets as well. */
const AWAY: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/** The fault of a failed socket; undefined for an error that is not the network's. */
const connectionFault = (error: unknown, source: string): Fault | undefined => {
  const code = errorCode(error)
  const what = CONNECTION_FAULTS.get(code)
  return what === undefined ? undefined : new Fault('unreachable', `${source} ${what}.`, { isAway: AWAY.has(code), cause: error })
}

const CERTIFICATE_ERROR = /^(?:CERT_|CRL_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA)/

/** The code of a socket's error. A name with several addresses fails with one error for each of them. */
export const errorCode = (error: unknown): string => {
  const first = error instanceof AggregateError ? error.errors[0] : error
  return first instanceof Error && 'code' in first ? String(first.code) : ''
}

/** Whether a certificate cannot be verified. */
export const isCertificateError = (error: unknown): boolean => CERTIFICATE_ERROR.test(errorCode(error))

/** The fault of a certificate that cannot be verified; undefined for another error. */
const certificateFault = (error: unknown, source: string): Fault | undefined => {
  if (!isCertificateError(error)) return undefined
  const code = errorCode(error)
  const why = error instanceof Error ? error.message.split(';')[0] : code
  const advice = 'Add its certificate authority to this host (update-ca-certificates) and restart the service, or use a valid certificate.'
  return new Fault('source_error', `The certificate of ${source} cannot be verified: ${why}. ${advice}`, { cause: error })
}

/** A request to a source: its address as shown to users, and what bounds its time. */
export interface SourceRequest {
  readonly source: string
  readonly protocol: 'RTSP' | 'HTTP'
  /** Cancels the request; its reason is passed on as it is. */
  readonly signal: AbortSignal
  /** `signal`, or the end of `timeoutMs`. */
  readonly deadline: AbortSignal
  readonly timeoutMs: number
}

/** The fault of a request without a response; the error itself when it is a Fault or the request was cancelled. */
export const requestFault = (error: unknown, { source, protocol, signal, deadline, timeoutMs }: SourceRequest): unknown => {
  if (error instanceof Fault || signal.aborted) return error
  if (deadline.aborted) {
    return new Fault('timeout', `${source} did not answer within ${Math.round(timeoutMs / 1000)} s.`, { cause: error })
  }
  return (
    connectionFault(error, source) ??
    certificateFault(error, source) ??
    new Fault('source_error', `${source} does not answer in ${protocol}. Check the scheme and the port of source.uri.`, { cause: error })
  )
}

/** The fault of a status of RTSP or HTTP; undefined for success. */
export const statusFault = (status: number, source: string, hasCredentials: boolean): Fault | undefined => {
  if (status >= 200 && status < 300) return undefined
  if (status === 401 && !hasCredentials) {
    const advice = 'Put them into source.uri in front of the host, as user:password@'
    return new Fault('unauthorized', `The source at ${source} requires a user name and password (401). ${advice}`)
  }
  if (status === 401) {
    return new Fault('unauthorized', `The source at ${source} rejects the user name or password in source.uri (401). Correct them.`)
  }
  if (status === 403) {
    return new Fault('unauthorized', `The source at ${source} does not allow this user to read it (403). Use another user in source.uri.`)
  }
  if (status === 404 || status === 410) {
    return new Fault('not_found', `There is no stream at ${source} (${status}). Check the path, and that something publishes to it.`)
  }
  if (status >= 500) return new Fault('source_error', `The source at ${source} answered with an error (${status}).`)
  return new Fault('source_error', `The source at ${source} rejected the request (${status}).`)
}

/** The fault of a source that would delay all others. */
export const sourceFlood = (): Fault =>
  new Fault(
    'source_flood',
    'The source sends far more packets or pictures a second than a camera does. Other pipelines would wait for it. Correct what sends them.',
  )
