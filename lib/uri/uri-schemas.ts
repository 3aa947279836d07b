import * as v from 'valibot'
import { hasLatency, hasMode, hasPassphrase, hasPort, isListener, type StreamAddress, streamAddressOf } from './stream-address.ts'

export const SOURCE_SCHEMES = ['rtsp', 'rtsps', 'rtspt', 'udp', 'srt', 'rtmp', 'rtmps', 'http', 'https', 'v4l2', 'test', 'file'] as const
export const PUSH_SCHEMES = ['srt', 'udp', 'rtmp', 'rtmps', 'rtsp', 'rtsps'] as const

/** Sources whose address has no host. */
const WITHOUT_HOST: readonly string[] = ['file', 'test', 'v4l2']

// A URI has no control characters or blanks (RFC 3986 section 2), and argv of a child cannot carry a NUL.
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
const NOT_IN_A_URI = /[\u0000-\u0020\u007f]/

/** `user:pa/ss@host`, `user:pa?ss@host`: the password ends the authority (RFC 3986 section 3.2), and its begin is no port. */
const CUT_PASSWORD = /^[^:]+:\/\/[^/?#@[\]:]*:(?!\d*[/?])[^/?#@[\]]*[/?].*@/

/** RFC 6874, which the URL class does not take: `[fe80::1%25eth0]`. */
const IPV6_ZONE = /^[^/?#]*\/\/[^/?#[]*\[[^\]/?#]*%/

const isEncoded = v.pipe(
  v.string('Use a string'),
  v.check((uri) => !NOT_IN_A_URI.test(uri), 'Percent-encode blanks and control characters'),
  // As the begin of a fragment it would cut off the rest, with the host after a password.
  v.check((uri) => !uri.includes('#'), 'Percent-encode # as %23, also in a password'),
  v.check(
    (uri) => !CUT_PASSWORD.test(uri),
    'Percent-encode what is special in user name and password: / as %2F, ? as %3F, @ as %40, : as %3A',
  ),
)

const withAddress = (holds: (address: StreamAddress) => boolean, message: string) =>
  v.check((uri: string) => holds(streamAddressOf(uri)), message)

const hasScheme = (schemes: readonly string[]) =>
  withAddress(
    ({ scheme }) => schemes.includes(scheme),
    `Use an address that starts with one of: ${schemes.map((scheme) => `${scheme}://`).join(', ')}`,
  )
const hasKnownMode = (...modes: readonly string[]) =>
  withAddress((address) => hasMode(address, modes), `Use ${modes.map((mode) => `mode=${mode}`).join(' or ')}`)
const hasValidPort = withAddress(hasPort, 'Use an address with a port of 1 to 65535')
const hasValidPassphrase = withAddress(hasPassphrase, 'Use a passphrase of 10 to 79 characters')
const hasValidLatency = withAddress(hasLatency, 'Use a latency of 0 to 99999 milliseconds')

/** The address of a source. */
export const sourceUriSchema = v.pipe(
  isEncoded,
  v.minLength(1, 'Use a stream address such as rtsp://host/path'),
  v.maxLength(2048, 'Use at most 2048 characters'),
  hasScheme(SOURCE_SCHEMES),
  // The URL class refuses a listener without host.
  v.check(
    (uri) => URL.canParse(uri) || isListener(streamAddressOf(uri)),
    ({ input }) =>
      IPV6_ZONE.test(input)
        ? 'Use an address without an IPv6 zone (%), such as one of the source that is not link-local'
        : 'Use a complete stream address such as rtsp://host:554/path',
  ),
  withAddress(
    (address) => address.host !== '' || isListener(address) || WITHOUT_HOST.includes(address.scheme),
    'Use an address with a host, such as rtsp://host:554/path',
  ),
  hasValidPort,
  hasKnownMode('caller', 'listener', 'rendezvous'),
  hasValidPassphrase,
  hasValidLatency,
  v.description(`Stream address; schemes: ${SOURCE_SCHEMES.join(', ')}. Answers mask its credentials (***)`),
)

/** The address of a receiver of a push. */
export const pushUriSchema = v.pipe(
  isEncoded,
  v.minLength(1, 'Use a receiver address such as srt://host:port'),
  v.maxLength(2048, 'Use at most 2048 characters'),
  hasScheme(PUSH_SCHEMES),
  withAddress((receiver) => receiver.host !== '' || isListener(receiver), 'Use an address with a host, such as srt://host:port'),
  hasValidPort,
  hasKnownMode('caller', 'listener'),
  hasValidPassphrase,
  hasValidLatency,
  withAddress(
    ({ scheme, query }) => scheme !== 'udp' || /^(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])$/.test(query.get('ttl') ?? '1'),
    'Use a ttl of 1 to 255',
  ),
  withAddress(({ scheme, path }) => !scheme.startsWith('rtmp') || /^\/[^/]+\/./.test(path), 'Use rtmp://host/application/stream'),
  v.description(`Address of the receiver; schemes: ${PUSH_SCHEMES.join(', ')}. Answers mask its credentials (***)`),
)

/** Whether an address is one of RTMP, which carries no H.265. */
export const isRtmp = (uri: string): boolean => streamAddressOf(uri).scheme.startsWith('rtmp')
