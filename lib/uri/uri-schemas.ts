import * as v from 'valibot'
import { MASK } from '../redact.ts'
import { isListener, type StreamAddress, streamAddressOf } from './stream-address.ts'

/** What an address of a scheme has to hold. */
interface AddressRule {
  readonly holds: (address: StreamAddress) => boolean
  readonly message: string
}

const hasHost = (example: string): AddressRule => ({
  holds: (address) => address.host !== '' || isListener(address),
  message: `Use an address with a host, such as ${example}`,
})
const isPort = (port: string): boolean => Number(port) >= 1 && Number(port) <= 65535
const PORT = { holds: ({ port }) => port === '' || isPort(port), message: 'Use an address with a port of 1 to 65535' } satisfies AddressRule
/** Of a scheme without a default port. */
const NEEDS_PORT: AddressRule = { ...PORT, holds: ({ port }) => isPort(port) }

/** The passphrase has the 10 to 79 bytes that SRTO_PASSPHRASE takes, is masked, or is none. */
const isPassphrase = (passphrase: string): boolean => {
  const bytes = new TextEncoder().encode(passphrase).length
  return bytes === 0 || passphrase === MASK || (bytes >= 10 && bytes <= 79)
}

// The SRT library refuses what does not hold when the stream starts, and gives no reason.
const srtRules = (...modes: readonly string[]): readonly AddressRule[] => [
  {
    holds: ({ query }) => modes.includes(query.get('mode') ?? 'caller'),
    message: `Use ${modes.map((mode) => `mode=${mode}`).join(' or ')}`,
  },
  { holds: ({ query }) => isPassphrase(query.get('passphrase') ?? ''), message: 'Use a passphrase of 10 to 79 characters' },
  { holds: ({ query }) => /^\d{1,5}$/.test(query.get('latency') ?? '0'), message: 'Use a latency of 0 to 99999 milliseconds' },
]

const SOURCE_HOST = hasHost('rtsp://host:554/path')
const SERVER = [SOURCE_HOST, PORT]

/** The schemes of sources, and the rules of their addresses. */
export const SOURCE_SCHEMES = {
  rtsp: SERVER,
  rtsps: SERVER,
  rtspt: SERVER,
  udp: [SOURCE_HOST, NEEDS_PORT],
  srt: [SOURCE_HOST, NEEDS_PORT, ...srtRules('caller', 'listener', 'rendezvous')],
  rtmp: SERVER,
  rtmps: SERVER,
  http: SERVER,
  https: SERVER,
  v4l2: [PORT],
  test: [PORT],
  file: [PORT],
} satisfies Record<string, readonly AddressRule[]>

const RECEIVER = [hasHost('srt://host:port'), PORT]
const LISTENING = [hasHost('srt://host:port'), NEEDS_PORT]
const TTL: AddressRule = {
  holds: ({ query }) => /^(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])$/.test(query.get('ttl') ?? '1'),
  message: 'Use a ttl of 1 to 255',
}
const RTMP_PATH: AddressRule = { holds: ({ path }) => /^\/[^/]+\/./.test(path), message: 'Use rtmp://host/application/stream' }

/** The schemes of pushes: the rules of their addresses, and whether they carry H.265 beside H.264. */
export const PUSH_SCHEMES = {
  srt: { rules: [...LISTENING, ...srtRules('caller', 'listener')], h265: true },
  udp: { rules: [...LISTENING, TTL], h265: true },
  rtmp: { rules: [...RECEIVER, RTMP_PATH], h265: false },
  rtmps: { rules: [...RECEIVER, RTMP_PATH], h265: false },
  rtsp: { rules: RECEIVER, h265: true },
  rtsps: { rules: RECEIVER, h265: true },
} satisfies Record<string, { readonly rules: readonly AddressRule[]; readonly h265: boolean }>

// A URI has no control characters or blanks (RFC 3986 section 2), and argv of a child cannot carry a NUL.
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
const NOT_IN_A_URI = /[\u0000-\u0020\u007f]/

/**
 * User name and password as they stand there. `/` or `?` in them ends the authority (RFC 3986 section 3.2); what is left of it then is
 * neither a host with a port, nor has it a whole host behind its `@`: `user:pa/ss@host`, `user:p@ss/word@host`.
 */
const userInfoOf = (uri: string): string => {
  const rest = uri.slice(uri.indexOf('://') + 3)
  const [authority = ''] = rest.split(/[/?#]/, 1)
  const [last, at] = [rest.lastIndexOf('@'), authority.lastIndexOf('@')]
  if (last === at) return rest.slice(0, Math.max(last, 0))
  const isCut =
    at === -1
      ? /^[^:[\]]*:(?!\d*$)[^[\]]*$/.test(authority)
      : authority.includes(':') && /^[^.:[\]]*$/.test(authority.slice(at + 1)) && /^[^/?#]+\//.test(rest.slice(last + 1))
  return isCut ? rest.slice(0, last) : ''
}

const ENCODED = [
  ['/', '%2F'],
  ['?', '%3F'],
  ['@', '%40'],
  ['#', '%23'],
] as const

/** What has to be encoded in user name and password, such as `@ as %40`; empty when nothing has to. */
const unencoded = (uri: string): string => {
  const raw = userInfoOf(uri)
  return ENCODED.flatMap(([character, code]) => (raw.includes(character) ? [`${character} as ${code}`] : [])).join(', ')
}

/** RFC 6874, which the URL class does not take: `[fe80::1%25eth0]`. */
const IPV6_ZONE = /^[^/?#]*\/\/[^/?#[]*\[[^\]/?#]*%/

const isEncoded = v.pipe(
  v.string('Use a string'),
  v.check((uri) => !NOT_IN_A_URI.test(uri), 'Percent-encode blanks and control characters'),
  // As the begin of a fragment it would cut off the rest, with the host after a password.
  v.check((uri) => !uri.includes('#'), 'Percent-encode # as %23, also in a password'),
  v.check(
    (uri) => unencoded(uri) === '',
    ({ input }) => `Percent-encode what is special in user name and password (${unencoded(input)})`,
  ),
)

const rowOf = <Row>(table: Readonly<Record<string, Row>>, uri: string): Row | undefined => {
  const { scheme } = streamAddressOf(uri)
  return Object.hasOwn(table, scheme) ? table[scheme] : undefined
}

const hasScheme = (schemes: object) =>
  v.check(
    (uri: string) => Object.hasOwn(schemes, streamAddressOf(uri).scheme),
    `Use an address that starts with one of: ${Object.keys(schemes)
      .map((scheme) => `${scheme}://`)
      .join(', ')}`,
  )

const follows = (rulesOf: (uri: string) => readonly AddressRule[]) =>
  v.rawCheck<string>(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    const address = streamAddressOf(dataset.value)
    for (const { holds, message } of rulesOf(dataset.value)) if (!holds(address)) addIssue({ message })
  })

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
  follows((uri) => rowOf(SOURCE_SCHEMES, uri) ?? SERVER),
  v.description(`Stream address; schemes: ${Object.keys(SOURCE_SCHEMES).join(', ')}. Answers mask its credentials (***)`),
)

/** The address of a receiver of a push. */
export const pushUriSchema = v.pipe(
  isEncoded,
  v.minLength(1, 'Use a receiver address such as srt://host:port'),
  v.maxLength(2048, 'Use at most 2048 characters'),
  hasScheme(PUSH_SCHEMES),
  follows((uri) => rowOf(PUSH_SCHEMES, uri)?.rules ?? RECEIVER),
  v.description(`Address of the receiver; schemes: ${Object.keys(PUSH_SCHEMES).join(', ')}. Answers mask its credentials (***)`),
)

/** Whether a push to this address may send H.265. RTMP may not. */
export const carriesH265 = (uri: string): boolean => rowOf(PUSH_SCHEMES, uri)?.h265 !== false

const WEBHOOK_RULES = [hasHost('https://host/path'), PORT]

/** The address of a receiver of webhooks. */
export const webhookUriSchema = v.pipe(
  isEncoded,
  v.minLength(1, 'Use an address such as https://host/path'),
  v.maxLength(2048, 'Use at most 2048 characters'),
  hasScheme({ https: true, http: true }),
  v.check((uri) => URL.canParse(uri), 'Use a complete address such as https://host/path'),
  follows(() => WEBHOOK_RULES),
  v.description('Address of the receiver, https:// or http://. Answers mask its credentials (***)'),
)
