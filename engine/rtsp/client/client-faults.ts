import { Fault } from '../../faults/fault.ts'
import { sourceFlood, statusFault } from '../../faults/network-faults.ts'
import { TRANSPORT_REFUSED } from '../../gst/bus-errors.ts'
import { RtspProtocolError } from '../protocol/message-parser.ts'
import { FloodError, UnreadError } from './client-connection.ts'

/** `cause` of the fault of a source that the engine cannot read itself: a child tries next. */
export const NOT_UNDERSTOOD = 'not_understood'

/** `why` completes "The engine cannot read this source itself:". */
export const notUnderstood = (shown: string, why: string): Fault =>
  new Fault('source_error', `The engine cannot read ${shown} itself: ${why}. From now on a GStreamer process reads it.`, {
    cause: NOT_UNDERSTOOD,
  })

export const transportRefused = (shown: string, transport: 'TCP' | 'UDP'): Fault => {
  const next =
    transport === 'UDP' ? 'The next attempt uses TCP.' : 'With rtsp:// the next attempt uses UDP; rtspt:// and rtsps:// use TCP only.'
  return new Fault('source_error', `${shown} refuses to send its RTP over ${transport}. ${next}`, { cause: TRANSPORT_REFUSED })
}

export const sourceEnded = (how: string): Fault => new Fault('ended', `The source ended the stream: ${how}.`)

/** The fault of a connection that broke, or of a request over it. */
export const breakFault = (error: unknown, shown: string): Fault => {
  if (error instanceof Fault) return error
  if (error instanceof RtspProtocolError) return notUnderstood(shown, `it violates the protocol (${error.message})`)
  if (error instanceof FloodError) return sourceFlood()
  if (error instanceof UnreadError) return new Fault('source_error', `${shown} does not read what it is sent.`, { cause: error })
  return new Fault('unreachable', 'The connection to the source was lost.', { cause: error })
}

/** Statuses that a child would get as well: it does not try. */
const SAME_FOR_ALL = new Set([401, 403, 453, 503])

/** The fault of an unsuccessful response to SETUP or PLAY. */
export const refusal = (method: string, status: number, shown: string, hasCredentials: boolean): Fault => {
  const known = SAME_FOR_ALL.has(status) ? statusFault(status, shown, hasCredentials) : undefined
  return known ?? notUnderstood(shown, `it answers ${method} with ${status}`)
}
