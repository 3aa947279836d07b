import { redact } from '../../lib/redact.ts'
import { Fault, type FaultCause } from '../faults/fault.ts'
import { gstreamerMissing, notStarted, packageOf } from '../gst/bus-errors.ts'
import type { Ended } from '../gst/child.ts'

interface Rule {
  readonly pattern: RegExp
  readonly reason: FaultCause
  /** Shown to users; `$1` is the first group of the pattern, `$package` the package of the element `$1`. */
  readonly message: string
  /** The same of a receiver over TLS, where it may mean more. */
  readonly overTls?: string
}

const NO_ADDRESS = 'The host name of the receiver has no address. Check the uri of the push and the name server.'

/** What the sinks of GStreamer 1.22 print, the most specific first: the first rule that matches any line decides. */
const RULES: readonly Rule[] = [
  {
    pattern: /no element "([^"]+)"/,
    reason: 'missing_element',
    message: 'The element $1 is not installed. Install it: apt-get install $package',
  },
  {
    pattern: /Unauthorized|\(401\)|[Aa]uthenticat(?:ion|e)[\w ]{0,40}(?:fail|required|reject)|authmod=/,
    reason: 'unauthorized',
    message: 'The receiver requires a user name and password, or rejects those of the push. Correct its uri.',
  },
  { pattern: /Forbidden|\(403\)/, reason: 'unauthorized', message: 'The receiver does not allow this user to publish (403).' },
  {
    // 454 answers the request with which rtspclientsink ends what another error has ended.
    pattern: /Resource not found|(?<!Session )Not Found|\(404\)/i,
    reason: 'not_found',
    message: 'The receiver takes no stream at this path (404). Check the path of the push.',
  },
  {
    pattern: /Got error response: (\d{3} \([^)]{1,60}\))/,
    reason: 'source_error',
    message: 'The receiver does not take the stream: it answers $1.',
  },
  {
    // nginx-rtmp closes the connection of a wrong key without a word.
    pattern: /Publish\.(?:BadName|Denied|Rejected)|publish[\w ]{0,40}(?:denied|rejected)|'publish' cmd failed: connection closed/i,
    reason: 'unauthorized',
    message: 'The receiver does not let this stream be published: another one may use its name, or the key is wrong.',
  },
  {
    pattern: /'connect' cmd failed: connection closed/,
    reason: 'not_found',
    message: 'The receiver closes the connection when asked for this RTMP application. Check the first part of the path of the push.',
  },
  {
    pattern: /Failed to connect: Short read/,
    reason: 'source_error',
    message: 'The receiver closes the connection in the RTMP handshake. Check the port of the push: it may be that of another protocol.',
  },
  {
    pattern: /Connection refused/i,
    reason: 'unreachable',
    message: 'The receiver refuses the connection: nothing listens at its address and port.',
  },
  {
    pattern: /Error resolving|resolve|Name or service not known|Temporary failure in name resolution/i,
    reason: 'unreachable',
    message: NO_ADDRESS,
  },
  {
    pattern: /No route to host|(?:Network|Host) (?:is )?unreachable/i,
    reason: 'unreachable',
    message: 'There is no route to the host of the receiver. Check the network.',
  },
  {
    pattern: /Address already in use|Cannot assign requested address|bind/i,
    reason: 'port_in_use',
    message: 'The engine cannot listen at the address of the push: another program uses the port, or it is not an address of this host.',
  },
  {
    pattern: /bad secret|wrong password|Incorrect passphrase|passphrase/i,
    reason: 'unauthorized',
    message: 'The passphrase of the SRT receiver is wrong or missing. Correct it in the uri of the push.',
  },
  {
    pattern: /SRT socket: Connection (?:timeout|rejected)|Connection setup failure/i,
    reason: 'unreachable',
    message: 'The SRT receiver does not answer: nothing listens at its address and port, or it rejects the stream id or passphrase.',
  },
  {
    pattern: /Failed to connect: Socket I\/O timed out/,
    reason: 'timeout',
    message: 'The receiver does not answer: its program hangs, or a firewall is between.',
  },
  {
    pattern: /certificate|TLS/,
    reason: 'source_error',
    message: 'The TLS connection to the receiver failed. Check its certificate and port; add its certificate authority to this host.',
  },
  {
    pattern: /Failed to connect|Could not connect|Could not open resource for reading and writing/i,
    reason: 'unreachable',
    message: 'The receiver cannot be reached: nothing listens at its address and port, or a firewall is between.',
    // rtspclientsink says no more when it refuses a certificate.
    overTls:
      'The receiver cannot be reached over TLS: nothing listens at its address and port, a firewall is between, or its certificate is ' +
      'not valid here. Check the address and the certificate; add its certificate authority to this host.',
  },
  {
    pattern: /reason not-negotiated|could not link|missing plugin/i,
    reason: 'unsupported',
    message: 'The video cannot be sent in the format of this receiver.',
  },
  { pattern: /timed? ?out/i, reason: 'timeout', message: 'The receiver stopped answering.' },
  {
    // node-media-server closes the connection of a wrong key after it has accepted the stream.
    pattern: /GstRtmp2Sink:\S{1,64}: Connection error: connection closed remotely/,
    reason: 'unreachable',
    message: 'The receiver closed the connection. If it does so at each attempt, check the stream key of the push.',
  },
  {
    pattern:
      /SRT socket|[Cc]losed|reset|Broken pipe|Could not (?:read|write|send|receive)|connection [\w ]{0,40}(?:lost|broken)|Failed to write/,
    reason: 'unreachable',
    message: 'The connection to the receiver was lost.',
  },
]

const fill = (template: string, match: RegExpExecArray): string =>
  template.replace(/\$(1|package)/g, (_, which: string) => (which === 'package' ? packageOf(match[1] ?? '') : (match[1] ?? '')))

const firstError = (lines: readonly string[]): string =>
  redact(
    (lines.find((line) => /^(?:ERROR|WARNING: erroneous)/.test(line)) ?? '').replace(/^ERROR: (?:from element \S+: )?/, '').slice(0, 300),
  )

/** The fault of a push whose child ended by itself. `lines`: the last of its stderr, oldest first; `tls`: the receiver speaks TLS. */
export const pushFault = (ended: Ended, lines: readonly string[], { tls }: { readonly tls: boolean }): Fault => {
  if (ended.missing) return gstreamerMissing()
  if (ended.refused !== undefined) return notStarted(ended.refused)
  for (const rule of RULES) {
    for (const line of lines) {
      const match = rule.pattern.exec(line)
      if (match !== null) return new Fault(rule.reason, redact(fill((tls ? rule.overTls : undefined) ?? rule.message, match)))
    }
  }
  const error = firstError(lines)
  // A process that is ended after an error says 0 too.
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

/** Why a receiver cannot get this video at all; undefined when it can. */
export const cannotCarry = (rtmp: boolean, codec: string): Fault | undefined => {
  if (!CARRIED.has(codec)) return new Fault('unsupported', `The video is ${codec}, which cannot be pushed. Re-encode it to H.264 or H.265.`)
  if (rtmp && codec !== 'H264') {
    return new Fault('unsupported', 'RTMP carries H.264 only, and the video is H.265. Encode it to h264, or push it over srt, udp or rtsp.')
  }
  return undefined
}

/** Readers need a password, and whoever connects to this listener needs none. */
export const openToAll = (): Fault =>
  new Fault(
    'unauthorized',
    'Readers need a password, but this push lets anybody connect and read. Add a passphrase of 10 to 79 characters to its uri.',
  )
