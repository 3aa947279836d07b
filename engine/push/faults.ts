import { carriesH265 } from '../../lib/uri/uri-schemas.ts'
import { Fault } from '../faults/fault.ts'
import { gstreamerMissing, notStarted } from '../gst/bus-errors.ts'
import type { Ended } from '../gst/child.ts'
import { type FaultRule, ruledFault, shownError } from '../gst/fault-rules.ts'
import { FORBIDDEN, LOST, NO_ADDRESS, NO_ROUTE, NOT_FOUND, REFUSED, TLS_FAILED, UNANSWERED, UNAUTHORIZED } from './messages.ts'

/** What all sinks of GStreamer 1.22 print when the receiver refuses. */
const REFUSALS: readonly FaultRule[] = [
  {
    pattern: /no element "([^"]+)"/,
    reason: 'missing_element',
    message: 'The element $1 is not installed. Install it: apt-get install $package',
  },
  {
    pattern: /Unauthorized|\(401\)|[Aa]uthenticat(?:ion|e) (?:is |was |has been )?(?:fail|required|reject)|authmod=/,
    reason: 'unauthorized',
    message: UNAUTHORIZED,
  },
  { pattern: /Forbidden|\(403\)/, reason: 'unauthorized', message: FORBIDDEN },
  {
    pattern: /Resource not found|Not Found|\(404\)/i,
    reason: 'not_found',
    message: NOT_FOUND,
  },
]

/** What all sinks print when there is no connection, the most specific first; they apply after the rules of the sink. */
const CONNECTION: readonly FaultRule[] = [
  {
    pattern: /Connection refused/i,
    reason: 'unreachable',
    message: REFUSED,
  },
  {
    pattern: /Error resolving|resolve|Name or service not known|Temporary failure in name resolution/i,
    reason: 'unreachable',
    message: NO_ADDRESS,
  },
  {
    pattern: /No route to host|(?:Network|Host) (?:is )?unreachable/i,
    reason: 'unreachable',
    message: NO_ROUTE,
  },
  {
    pattern: /Address already in use|Cannot assign requested address|bind/i,
    reason: 'port_in_use',
    message: 'The engine cannot listen at the address of the push: another program uses the port, or it is not an address of this host.',
  },
  {
    pattern: /certificate|TLS/,
    reason: 'source_error',
    message: TLS_FAILED,
  },
  {
    pattern: /Failed to connect|Could not connect|Could not open resource for reading and writing/i,
    reason: 'unreachable',
    message: 'The receiver cannot be reached: nothing listens at its address and port, or a firewall is between.',
    overTls:
      'The receiver cannot be reached over TLS: nothing listens at its address and port, a firewall is between, or its certificate is ' +
      'not valid here. Check the address and the certificate; add its certificate authority to this host.',
  },
  {
    pattern: /reason not-negotiated|could not link|missing plugin/i,
    reason: 'unsupported',
    message: 'The video cannot be sent in the format of this receiver.',
  },
  { pattern: /timed? ?out/i, reason: 'timeout', message: UNANSWERED },
  {
    pattern:
      /SRT socket|[Cc]losed|reset|Broken pipe|Could not (?:read|write|send|receive)|connection (?:is |was |has been )?(?:lost|broken)|Failed to write/,
    reason: 'unreachable',
    message: LOST,
  },
]

interface Receiver {
  /** It speaks TLS. */
  readonly tls: boolean
  /** What its kind of sink prints. */
  readonly faults: readonly FaultRule[]
}

/** The fault of a push whose child ended by itself. `lines`: the last of its stderr, oldest first. */
export const pushFault = (ended: Ended, lines: readonly string[], { tls, faults }: Receiver): Fault => {
  if (ended.missing) return gstreamerMissing()
  if (ended.refused !== undefined) return notStarted(ended.refused)
  const fault = ruledFault([...REFUSALS, ...faults, ...CONNECTION], lines, tls ? 'overTls' : 'message')
  if (fault !== undefined) return fault
  const error = shownError(lines)
  // The exit code of a process that is ended after an error is 0 too.
  if (ended.exitCode === 0 && error === '') return new Fault('ended', 'The receiver ended the stream.')
  const end = ended.signal === null ? `exit code ${ended.exitCode}` : `${ended.signal}`
  return new Fault('crashed', `The process of the push ended with ${end}.${error === '' ? '' : ` Its last error: ${error}`}`)
}

export const receiverNotFound = (cause: unknown): Fault => new Fault('unreachable', NO_ADDRESS, { cause })

export const receiverStalled = (seconds: number): Fault =>
  new Fault('stalled', `The receiver has taken nothing for ${seconds} s. The push connects again.`)

export const notTaken = (seconds: number): Fault => new Fault('timeout', `The receiver did not take the video within ${seconds} s.`)

/** The codecs that MPEG-TS carries here, by the encoding names of RTP. */
const CARRIED: ReadonlySet<string> = new Set(['H264', 'H265'])

/** Why the receiver at this address cannot get video of this codec at all; undefined when it can. */
export const cannotCarry = (uri: string, codec: string): Fault | undefined => {
  if (!CARRIED.has(codec)) return new Fault('unsupported', `The video is ${codec}, which cannot be pushed. Re-encode it to H.264 or H.265.`)
  if (codec === 'H265' && !carriesH265(uri)) {
    return new Fault('unsupported', 'RTMP carries H.264 only, and the video is H.265. Encode it to h264, or push it over srt, udp or rtsp.')
  }
  return undefined
}

/** Readers need a password, and clients of this listener need none. */
export const openToAll = (): Fault =>
  new Fault(
    'unauthorized',
    'Readers need a password, but this push lets anybody connect and read. Add a passphrase of 10 to 79 characters to its uri.',
  )
