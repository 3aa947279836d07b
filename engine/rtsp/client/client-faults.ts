import { Fault } from '../../faults/fault.ts'
import { sourceFlood, statusFault } from '../../faults/network-faults.ts'
import { RtspProtocolError } from '../protocol/message-parser.ts'
import { FloodError, UnreadError } from './client-connection.ts'

/** `cause` of the fault of a source that refuses the transport it was asked for: RTP inside the RTSP connection (TCP), or UDP. */
export const TRANSPORT_REFUSED = 'transport_refused'

/** `why` completes "This source cannot be read:". */
export const notUnderstood = (shown: string, why: string, cause?: unknown): Fault =>
  new Fault('source_error', `${shown} cannot be read: ${why}.`, { cause })

/** Its server accepted UDP, but its packets do not come. */
export const noPackets = (shown: string, seconds: number): Fault =>
  new Fault(
    'timeout',
    `No UDP packet has come from ${shown} for ${seconds} s. If it sends, open the firewall for UDP, or set it to send over TCP.`,
    { cause: TRANSPORT_REFUSED },
  )

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

/** Statuses whose meaning does not depend on the request. */
const USUAL = new Set([401, 403, 453, 503])

/** The fault of an unsuccessful response to SETUP or PLAY. */
export const refusal = (method: string, status: number, shown: string, hasCredentials: boolean): Fault => {
  const known = USUAL.has(status) ? statusFault(status, shown, hasCredentials) : undefined
  return known ?? notUnderstood(shown, `it answers ${method} with ${status}`)
}
