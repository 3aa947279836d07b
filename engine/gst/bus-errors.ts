import { redact } from '../../lib/redact.ts'
import { Fault, type FaultCause } from '../fault.ts'
import { classifyCameraFault } from './camera-errors.ts'
import type { Ended } from './child.ts'

/** The `cause` of a fault that says: the source refuses to send RTP over its RTSP connection. */
export const TCP_REFUSED = 'tcp_refused'

interface Rule {
  readonly pattern: RegExp
  readonly reason: FaultCause
  /** In words for users; `$1` and so on are what the pattern captured. */
  readonly message: string
  readonly cause?: string
}

/** Debian and Ubuntu package of an element, by the beginning of its name. */
const PACKAGES: readonly (readonly [RegExp, string])[] = [
  [/^x264enc|^mpeg2dec|^asf|^rtmpsrc/, 'gstreamer1.0-plugins-ugly'],
  [/^avdec_|^avenc_|^avmux_|^avdemux_/, 'gstreamer1.0-libav'],
  [/^vaapi/, 'gstreamer1.0-vaapi'],
  [
    /^(?:alsa|app|audio|video(?:convert|scale|rate|test)|decodebin|playbin|uridecodebin|parsebin|ogg|opus|theora|tcp|gio|encodebin)/,
    'gstreamer1.0-plugins-base',
  ],
  [
    /^(?:rtp(?!src|sink)|rtsp|udp|v4l2|jpeg|png|vp8|vp9|souphttp|flv|matroska|qt|mp4|isomp4|multi|wav|avi|pulse|deinterlace|autodetect)/,
    'gstreamer1.0-plugins-good',
  ],
  [/^(?:text|time|clock)overlay|^textrender/, 'gstreamer1.0-x'],
  [/./, 'gstreamer1.0-plugins-bad'],
]

const packageOf = (element: string): string => PACKAGES.find(([pattern]) => pattern.test(element))?.[1] ?? 'gstreamer1.0-plugins-bad'

/** What GStreamer 1.22 prints, from the particular to the general; the first that matches any line decides. */
const RULES: readonly Rule[] = [
  {
    pattern: /no element "([^"]+)"/,
    reason: 'missing_element',
    message: 'The element $1 is not installed. Install it: apt-get install $package',
  },
  { pattern: /erroneous pipeline: (.+)/, reason: 'bad_description', message: 'The engine rejects the description: $1' },
  {
    pattern: /Unauthorized|\(401\)|Authentication (?:failed|required)/i,
    reason: 'unauthorized',
    message: 'The source asks for a user name and password, or refuses those in source.uri (401).',
  },
  { pattern: /Forbidden|\(403\)/i, reason: 'unauthorized', message: 'The source does not allow this user to read it (403).' },
  {
    pattern: /NetStream\.Play\.StreamNotFound|\(404\)/i,
    reason: 'not_found',
    message: 'There is no stream at this address (404). Check the path, and that something publishes to it.',
  },
  {
    // rtspsrc: "Unhandled error", for a server that is busy with the session of a child that was killed, say.
    pattern: / \((45\d|5\d\d)\)$/,
    reason: 'source_error',
    message: 'The source answered with an error ($1).',
  },
  {
    pattern: /You might need to allow more transport protocols/,
    reason: 'source_error',
    message: 'The source does not send over its RTSP connection; the next try asks for UDP.',
    cause: TCP_REFUSED,
  },
  {
    pattern: /bind failed|Address already in use/i,
    reason: 'source_error',
    message: 'The address of the source cannot be listened at: it is not one of this host, or another program has the port.',
  },
  {
    pattern: /Permission denied|Operation not permitted/i,
    reason: 'permission',
    message: 'The device or file may not be opened. Add the user of the service to its group (cameras: video).',
  },
  { pattern: /No such file/i, reason: 'not_found', message: 'The file does not exist.' },
  {
    pattern: /Connection refused/i,
    reason: 'unreachable',
    message: 'The source refuses the connection: nothing listens at its address and port.',
  },
  {
    pattern: /Error resolving|Name or service not known|Temporary failure in name resolution/i,
    reason: 'unreachable',
    message: 'The host name of the source has no address.',
  },
  {
    pattern: /No route to host|Network (?:is )?unreachable|Host (?:is )?unreachable/i,
    reason: 'unreachable',
    message: 'There is no route to the source.',
  },
  {
    pattern: /bad secret|wrong password|Incorrect passphrase|encryption/i,
    reason: 'unauthorized',
    message: 'The passphrase of the SRT source is wrong or missing.',
  },
  {
    pattern: /SRT socket: Connection (?:timeout|was broken|rejected)|Connection setup failure/i,
    reason: 'unreachable',
    message: 'The SRT source does not answer: nothing listens at its address and port, or it refuses the stream id or passphrase.',
  },
  {
    pattern: /Failed to connect|Could not connect|Could not establish connection/i,
    reason: 'unreachable',
    message: 'The source cannot be reached.',
  },
  { pattern: /Timeout while|timed? ?out/i, reason: 'timeout', message: 'The source stopped answering.' },
  {
    pattern: /Secure connection setup failed|TLS|certificate/i,
    reason: 'source_error',
    message: 'No secure connection to the source could be made.',
  },
  {
    pattern: /missing a plug-in|No decoder available|Missing element|missing plugin/i,
    reason: 'missing_element',
    message:
      'A decoder for this source is not installed. Install the usual ones: apt-get install gstreamer1.0-libav gstreamer1.0-plugins-bad',
  },
  {
    pattern: /reason not-linked/,
    reason: 'unsupported',
    message: 'The source carries no H.264 or H.265 video. Set encoding (for example {"codec":"h264"}) to have another codec re-encoded.',
  },
  {
    pattern: /reason not-negotiated|could not (?:negotiate|link)|does not support .*format|Could not negotiate format/i,
    reason: 'unsupported',
    message: 'The format of the source does not fit what was asked for. Check size, frame rate and codec.',
  },
  {
    pattern:
      /contains no data|Could not determine type|Could not demultiplex|could not be decoded|wrong type|not a (?:valid )?playlist|unable to decode/i,
    reason: 'source_error',
    message: 'The source sends data that is no video stream.',
  },
  {
    pattern: /Not enough memory|No space left|Cannot allocate|resource.*exhausted/i,
    reason: 'crashed',
    message: 'The host has too little memory or disk for this pipeline.',
  },
  {
    pattern:
      /Server (?:closed|disconnected)|Could not (?:read|write|receive)|connection (?:was )?(?:closed|reset)|Broken pipe|Could not open resource/i,
    reason: 'unreachable',
    message: 'The connection to the source was lost.',
  },
]

const fill = (template: string, match: RegExpExecArray): string =>
  template.replace(/\$(\d|package)/g, (_, which: string) =>
    which === 'package' ? packageOf(match[1] ?? '') : (match[Number(which)] ?? ''),
  )

/** GStreamer's own words: the first error and its debug text. */
const engineWords = (lines: readonly string[]): string => {
  const error = lines.find((line) => /^(?:ERROR|WARNING: erroneous pipeline)/.test(line)) ?? lines.find((line) => line.trim() !== '') ?? ''
  return redact(error.replace(/^ERROR: (?:from element \S+: )?/, '').slice(0, 300))
}

const MAX_LINES = 200

/** Why a child that nobody stopped has ended. `stderrTail`: its last lines, oldest first. */
export const classifyEnd = (ended: Ended, stderrTail: readonly string[]): Fault => {
  if (ended.missing) return new Fault('engine_missing', 'GStreamer is not installed. Install it: apt-get install gstreamer1.0-tools')
  // Delayed links that never came to be are warnings of every line that waits for one of several tracks.
  const lines = stderrTail.slice(-MAX_LINES).filter((line) => !/Delayed linking failed/.test(line))
  const camera = lines.some((line) => line.includes('GstV4l2Src')) ? classifyCameraFault(lines) : undefined
  if (camera !== undefined) return camera
  for (const rule of RULES) {
    for (const line of lines) {
      const match = rule.pattern.exec(line)
      if (match === null) continue
      return new Fault(rule.reason, redact(fill(rule.message, match)), rule.cause === undefined ? undefined : { cause: rule.cause })
    }
  }
  if (ended.exitCode === 0) return new Fault('ended', 'The source ended the stream.')
  const words = engineWords(lines)
  if (ended.signal !== null)
    return new Fault('crashed', `The media engine died of ${ended.signal}.${words === '' ? '' : ` Its last words: ${words}`}`)
  return new Fault(
    'crashed',
    words === '' ? `The media engine ended with exit code ${ended.exitCode}.` : `The media engine failed: ${words}`,
  )
}
