import { Fault } from '../faults/fault.ts'
import { cameraFault } from './camera-errors.ts'
import type { Ended } from './child.ts'
import { type FaultRule, ruledFault, shownError } from './fault-rules.ts'

/** Message of the fault of a source whose video cannot be passed through, or is of none of the codecs that are re-encoded. */
export const OTHER_CODEC =
  'The source carries no H.264 or H.265 video. Set encoding (for example {"codec":"h264"}) to re-encode another codec. If it is set, let the source send another codec.'

export const gstreamerMissing = (): Fault =>
  new Fault('engine_missing', 'GStreamer is not installed. Install it: apt-get install gstreamer1.0-tools')

const TOO_MANY_PROCESSES = 'there are too many processes. Raise the limit (TasksMax of the unit, ulimit -u), or run fewer pipelines'

const LIMITS: Readonly<Record<string, string>> = {
  EMFILE: 'the service has too many open files. Raise its limit (LimitNOFILE of the unit, ulimit -n), or run fewer pipelines',
  ENFILE: 'this host has too many open files. Raise fs.file-max',
  EAGAIN: TOO_MANY_PROCESSES,
  ENOMEM: 'no memory is left. Run fewer pipelines, or add memory',
}

/** The fault of a process that the host did not let start; tried again, since others may end. */
export const notStarted = (code: string): Fault =>
  new Fault('crashed', `The process could not be started: ${LIMITS[code] ?? `the host refuses it (${code})`}.`)

/** Messages on the bus as gst-launch-1.0 1.22 prints them, the most specific first. */
const RULES: readonly FaultRule[] = [
  {
    pattern: /no element "([^"]+)"/,
    reason: 'missing_element',
    message: 'The element $1 is not installed. Install it: apt-get install $package',
  },
  { pattern: /erroneous pipeline: (.+)/, reason: 'bad_description', message: 'The engine rejects the description: $1' },
  {
    pattern: /Unauthorized|\(401\)|Authentication (?:failed|required)/i,
    reason: 'unauthorized',
    message: 'The source requires a user name and password, or rejects those in source.uri (401). Correct source.uri.',
  },
  {
    pattern: /Forbidden|\(403\)/i,
    reason: 'unauthorized',
    message: 'The source does not allow this user to read it (403). Use another user in source.uri.',
  },
  {
    pattern: /NetStream\.Play\.StreamNotFound|\(404\)/i,
    reason: 'not_found',
    message: 'There is no stream at this address (404). Check the path, and that something publishes to it.',
  },
  {
    // rtspsrc: "Unhandled error", for example of a server that is still busy with the session of a killed child.
    pattern: / \((45\d|5\d\d)\)$/,
    reason: 'source_error',
    message: 'The source answered with an error ($1).',
  },
  {
    pattern: /You might need to allow more transport protocols/,
    reason: 'source_error',
    message: 'The source refuses the transport of its RTP. Let rtspsrc use another one (protocols).',
  },
  {
    pattern: /Could not receive any UDP packets/,
    reason: 'timeout',
    message: 'No UDP packet has come from the source for 5 s. If it sends, open the firewall for UDP, or use TCP.',
  },
  {
    pattern: /bind failed|Address already in use/i,
    reason: 'source_error',
    message:
      'The engine cannot listen on the address of the source: it is not an address of this host, or another pipeline or program uses the port.',
  },
  {
    pattern: /Permission denied|Operation not permitted/i,
    reason: 'permission',
    message: 'The service has no permission to open the device or file. Add the user of the service to its group (video for cameras).',
  },
  { pattern: /No such file/i, reason: 'not_found', message: 'The file does not exist. Check its path.' },
  {
    pattern: /Connection refused/i,
    reason: 'unreachable',
    message: 'The source refuses the connection: nothing listens at its address and port.',
    isAway: true,
  },
  {
    pattern: /Error resolving|Name or service not known|Temporary failure in name resolution/i,
    reason: 'unreachable',
    message: 'The host name of the source has no address. Check source.uri and the name server.',
    isAway: true,
  },
  {
    pattern: /No route to host|Network (?:is )?unreachable|Host (?:is )?unreachable/i,
    reason: 'unreachable',
    message: 'There is no route to the host of the source. Check the network.',
    isAway: true,
  },
  {
    pattern: /bad secret|wrong password|Incorrect passphrase|encryption/i,
    reason: 'unauthorized',
    message: 'The passphrase of the SRT source is wrong or missing. Correct it in source.uri.',
  },
  {
    pattern: /SRT socket: Connection (?:timeout|was broken|rejected)|Connection setup failure/i,
    reason: 'unreachable',
    message: 'The SRT source does not answer: nothing listens at its address and port, or it rejects the stream id or passphrase.',
  },
  {
    // nginx-rtmp answers what it refuses by closing the connection.
    pattern: /'connect' cmd failed: connection closed/,
    reason: 'source_error',
    message: 'The source closes the connection when asked for this RTMP application. Check the first part of the path of source.uri.',
  },
  {
    pattern: /'play' cmd failed: connection closed/,
    reason: 'source_error',
    message: 'The source closes the connection when asked for this stream. Check its name, and that the server lets this host play it.',
  },
  {
    pattern: /Failed to connect: Short read/,
    reason: 'source_error',
    message: 'The source closes the connection in the RTMP handshake. Check the port of source.uri: it may be that of another protocol.',
  },
  {
    pattern: /Failed to connect|Could not connect|Could not establish connection/i,
    reason: 'unreachable',
    message: 'The source cannot be reached. Check its address and the network.',
  },
  {
    // The first is of hlsdemux2, the second of hlsdemux.
    pattern: /Could not update playlist|Error on stream hlsdemux|(?:Couldn't|Could not|Failed to) download/i,
    reason: 'unreachable',
    message: 'The HLS source does not answer any more, or not with its playlist and segments. Check its server.',
  },
  { pattern: /Timeout while|timed? ?out/i, reason: 'timeout', message: 'The source stopped answering.' },
  {
    pattern: /Unacceptable TLS certificate|certificate (?:is not trusted|verif)|signing certificate authority is not known/i,
    reason: 'source_error',
    message: 'The certificate of the source cannot be verified. Add its certificate authority to this host, or use a valid certificate.',
  },
  {
    pattern: /Secure connection setup failed|TLS|certificate/i,
    reason: 'source_error',
    message: 'The TLS connection to the source failed. Check the scheme and the port of source.uri.',
  },
  {
    pattern: /missing a plug-in|No decoder available|Missing element|missing plugin/i,
    reason: 'missing_element',
    message:
      'A decoder for this source is not installed. Install the common ones: apt-get install gstreamer1.0-libav gstreamer1.0-plugins-bad',
  },
  {
    pattern: /reason not-linked/,
    reason: 'unsupported',
    message: OTHER_CODEC,
    advanced:
      'An element has data for a pad that is linked to nothing. Link the pad in raw_pipeline, to fakesink if you do not need it. If it is linked, the source has no stream of that kind.',
  },
  {
    pattern: /reason not-negotiated|could not (?:negotiate|link)|does not support/i,
    reason: 'unsupported',
    message: 'The source does not deliver the configured format. Check size, frame rate and codec.',
  },
  {
    pattern:
      /contains no data|Could not determine type|Could not demultiplex|could not be decoded|wrong type|not a (?:valid )?playlist|unable to decode/i,
    reason: 'source_error',
    message: 'The source sends data that is not a video stream. Check its address.',
  },
  {
    // flvdemux ends at the first tag of an unsupported codec without a message of its own.
    pattern: /reason error/,
    with: /GstRtmp2Src|GstFdSrc:flv:/,
    reason: 'unsupported',
    message:
      'GStreamer cannot demux the codec of this source: FLV (RTMP, HTTP-FLV) with H.265. Send H.264, or H.265 over RTSP, SRT or MPEG-TS.',
  },
  {
    // The first is of bwrap, the second of GLib.
    pattern: /(?:namespace failed|creating thread): Resource temporarily unavailable/,
    reason: 'crashed',
    message: `The process could not be started: ${TOO_MANY_PROCESSES}.`,
  },
  {
    pattern: /Not enough memory|No space left|Cannot allocate|resources? (?:temporarily |are )?exhausted/i,
    reason: 'crashed',
    message: 'The host has too little memory or disk space for this pipeline.',
  },
  {
    pattern:
      /Server (?:closed|disconnected)|Could not (?:read|write|receive)|connection (?:was )?(?:closed|reset)|Broken pipe|Could not open resource/i,
    reason: 'unreachable',
    message: 'The connection to the source was lost.',
  },
]

/** The fault of a child that ended by itself. `stderrTail`: its last lines, oldest first; `advanced`: of an advanced pipeline. */
export const classifyEnd = (ended: Ended, stderrTail: readonly string[], advanced = false): Fault => {
  if (ended.missing) return gstreamerMissing()
  if (ended.refused !== undefined) return notStarted(ended.refused)
  // A line that waits for one of several tracks warns about the links of the others: not a fault.
  const lines = stderrTail.filter((line) => !/Delayed linking failed/.test(line))
  const fault = cameraFault(lines) ?? ruledFault(RULES, lines, advanced ? 'advanced' : 'message')
  if (fault !== undefined) return fault
  if (ended.exitCode === 0) return new Fault('ended', 'The source ended the stream.')
  const error = shownError(
    lines,
    lines.find((line) => line.trim() !== ''),
  )
  if (ended.signal !== null) {
    const by = ended.signal === 'SIGKILL' ? 'SIGKILL, as the kernel does when no memory is left' : ended.signal
    return new Fault('crashed', `The media engine was killed by ${by}.${error === '' ? '' : ` Its last error: ${error}`}`)
  }
  return new Fault('crashed', `The media engine ended with ${error === '' ? `exit code ${ended.exitCode}.` : `the error: ${error}`}`)
}
