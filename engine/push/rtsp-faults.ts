import { Fault } from '../faults/fault.ts'
import { errorCode, isCertificateError } from '../faults/network-faults.ts'
import { ClosedEarly } from '../rtsp/client/client-connection.ts'
import { shownStatus } from '../rtsp/protocol/format-message.ts'
import { RtspProtocolError } from '../rtsp/protocol/message-parser.ts'
import { receiverNotFound } from './faults.ts'
import { FORBIDDEN, LOST, NO_ROUTE, NOT_FOUND, REFUSED, TLS_FAILED, UNANSWERED, UNAUTHORIZED } from './messages.ts'

/** The fault of a receiver that refuses a request. */
export const refusedBy = (status: number): Fault => {
  if (status === 401) return new Fault('unauthorized', UNAUTHORIZED)
  if (status === 403) return new Fault('unauthorized', FORBIDDEN)
  if (status === 404) return new Fault('not_found', NOT_FOUND)
  return new Fault('source_error', `The receiver does not take the stream: it answers ${shownStatus(status)}.`)
}

const NO_NAME: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN'])
const NO_WAY: ReadonlySet<string> = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'])

/** The fault of a connection that failed or broke, or of a request over it. */
export const brokenBy = (error: unknown): Fault => {
  const closed = error instanceof Fault ? error.cause : error
  if (closed instanceof ClosedEarly)
    return new Fault('unreachable', 'The receiver closed the connection without an answer. Check the port of the push.', { cause: error })
  if (error instanceof Fault) return error
  const code = errorCode(error)
  if (code === 'ECONNREFUSED') return new Fault('unreachable', REFUSED, { cause: error })
  if (NO_NAME.has(code)) return receiverNotFound(error)
  if (NO_WAY.has(code)) return new Fault('unreachable', NO_ROUTE, { cause: error })
  if (code === 'ETIMEDOUT') return new Fault('timeout', UNANSWERED, { cause: error })
  if (isCertificateError(error) || code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return new Fault('source_error', TLS_FAILED, { cause: error })
  if (error instanceof RtspProtocolError)
    return new Fault('source_error', 'The receiver does not speak RTSP. Check the scheme and the port of the push.', { cause: error })
  return new Fault('unreachable', LOST, { cause: error })
}
