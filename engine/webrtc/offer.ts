import { isIP } from 'node:net'
import { MAX_SDP_CHARACTERS } from '../../lib/engine/protocol.ts'
import { ApiError } from '../../lib/errors.ts'
import { validationError } from '../../lib/validate.ts'

/** A codec that an offer takes. */
export interface OfferedCodec {
  readonly payload: number
  /** Upper case. */
  readonly name: string
  readonly clockRate: number
  readonly channels: number
  /** Of `a=fmtp`; names in lower case. */
  readonly parameters: ReadonlyMap<string, string>
  readonly fmtp: string | undefined
  /** Of `a=rtcp-fb`. */
  readonly feedback: ReadonlySet<string>
}

/** One `m=` section of an offer. */
export interface OfferedMedia {
  readonly kind: string
  readonly protocol: string
  /** The formats of its `m=` line. */
  readonly formats: readonly string[]
  readonly mid: string
  /** It may be sent to: neither refused nor one that only sends. */
  readonly receives: boolean
  readonly codecs: readonly OfferedCodec[]
  /** Header extensions whose id fits one byte (RFC 8285 section 4.2): URI → id. */
  readonly extensions: ReadonlyMap<string, number>
}

export interface Offer {
  readonly ufrag: string
  readonly password: string
  readonly fingerprint: string
  readonly setup: 'actpass' | 'active' | 'passive'
  readonly candidates: readonly string[]
  readonly media: readonly OfferedMedia[]
  /** The sections that share one transport; empty: each has its own. */
  readonly bundle: readonly string[]
}

const MAX_LINES = 2000
const MAX_MEDIA = 16
const MAX_CODECS = 128
/** A host with more addresses is reached by one of the first. */
const MAX_CANDIDATES = 32

const UFRAG = /^[A-Za-z0-9+/]{4,256}$/
const PASSWORD = /^[A-Za-z0-9+/]{22,256}$/
const FINGERPRINT = /^sha-(?:256|384|512) [0-9A-F]{2}(?::[0-9A-F]{2}){31,63}$/i
/** `token` of RFC 8866. */
const MID = /^[!#-'*+\-.0-9A-Z^-~]{1,64}$/
const MEDIA_LINE = /^(video|audio|application|text|message|image) (\d{1,5}) ([A-Za-z0-9/]{1,40}) ([A-Za-z0-9_ -]{1,1024})$/
const RTPMAP = /^(\d{1,3}) ([A-Za-z0-9._+-]{1,32})\/(\d{1,7})(?:\/(\d{1,2}))?$/
const FMTP = /^(\d{1,3}) ([\x20-\x7e]{1,1024})$/
const RTCP_FB = /^(\d{1,3}|\*) ([a-z0-9 -]{1,64})$/
const EXTMAP = /^([1-9]|1[0-4])(?:\/[a-z]{1,16})? (\S{1,200})/

const SETUPS = ['actpass', 'active', 'passive'] as const

/**
 * Reads the SDP of an offer. `address`: from which it comes, for candidates whose address is hidden. VALIDATION_ERROR says what is wrong
 * with it.
 */
export const parseOffer = (sdp: string, address?: string): Offer => {
  if (sdp.length > MAX_SDP_CHARACTERS) throw invalid(`The offer is longer than ${MAX_SDP_CHARACTERS} characters`)
  const lines = sdp.split(/\r\n|\n/)
  if (lines[0] !== 'v=0') throw invalid('The offer is not SDP: it does not begin with v=0')
  if (lines.length > MAX_LINES) throw invalid(`The offer has more than ${MAX_LINES} lines`)
  const [session = [], ...sections] = sectionsOf(lines)
  if (sections.length === 0) throw invalid('The offer has no m= line. Offer video to receive')
  if (sections.length > MAX_MEDIA) throw invalid(`The offer has more than ${MAX_MEDIA} m= lines`)
  const media = sections.map((section, index) => mediaOf(section, index))
  if (new Set(media.map(({ mid }) => mid)).size < media.length) throw invalid('Two m= sections of the offer have the same a=mid')
  // Of the section that all are bundled with, or of the session.
  const all = [...session, ...sections.flat()]
  return {
    ufrag: required(all, 'ice-ufrag', UFRAG),
    password: required(all, 'ice-pwd', PASSWORD),
    fingerprint: required(all, 'fingerprint', FINGERPRINT).replace(/^sha/i, 'sha'),
    setup: setupOf(all),
    candidates: candidatesOf(all, address),
    media,
    bundle: bundleOf(session),
  }
}

/** The candidates of an SDP fragment (RFC 8840). VALIDATION_ERROR when it is none; UNPROCESSABLE_CONTENT when it restarts ICE. */
export const fragmentCandidates = (fragment: string, ufrag: string, address?: string): readonly string[] => {
  if (fragment.length > MAX_SDP_CHARACTERS) throw invalid(`The fragment is longer than ${MAX_SDP_CHARACTERS} characters`)
  const lines = fragment.split(/\r\n|\n/)
  if (!lines.some((line) => line.startsWith('a='))) throw invalid('The fragment has no a= line')
  if (values(lines, 'ice-ufrag').some((value) => value !== ufrag)) {
    throw new ApiError('UNPROCESSABLE_CONTENT', 'ICE cannot be restarted here. End this session and begin another one.', {
      reason: 'ice_restart',
    })
  }
  return candidatesOf(lines, address)
}

/** The candidates of lines of SDP that a session can try: UDP, with an address. */
const candidatesOf = (lines: readonly string[], ofPlayer = ''): readonly string[] =>
  values(lines, 'candidate')
    .flatMap((line) => candidateOf(line, ofPlayer) ?? [])
    .slice(0, MAX_CANDIDATES)

const CANDIDATE = /^([A-Za-z0-9+/]{1,32}) 1 ([A-Za-z]{3}) (\d{1,10}) ([0-9A-Za-z:.-]{2,64}) (\d{1,5}) typ (host|srflx|prflx|relay)(?: |$)/

/**
 * Browsers hide their addresses behind names that only multicast DNS knows; the port is the real one, and the address is that of the
 * player unless a NAT or a proxy is between. To be reached there at once saves 50 to 100 ms: the library answers a player that it does
 * not know yet so late. Other names are left out: they would be looked up.
 */
const candidateOf = (line: string, ofPlayer: string): string | undefined => {
  const [, foundation = '', transport = '', priority = '', stated = '', port = '', type = ''] = CANDIDATE.exec(line) ?? []
  const address = stated.endsWith('.local') ? ofPlayer : stated
  if (transport.toLowerCase() !== 'udp' || isIP(address) === 0 || Number(port) < 1 || Number(port) > 65535) return undefined
  return Number(priority) > 0xffffffff ? undefined : `${foundation} 1 UDP ${priority} ${address} ${port} typ ${type}`
}

/** The lines before the first `m=`, then those of each. */
const sectionsOf = (lines: readonly string[]): readonly (readonly string[])[] => {
  const sections: string[][] = [[]]
  for (const line of lines) {
    if (line.startsWith('m=')) sections.push([])
    sections.at(-1)?.push(line)
  }
  return sections
}

const values = (lines: readonly string[], name: string): readonly string[] =>
  lines.filter((line) => line.startsWith(`a=${name}:`)).map((line) => line.slice(name.length + 3))

const required = (lines: readonly string[], name: string, pattern: RegExp): string => {
  const [value] = values(lines, name)
  if (value === undefined) throw invalid(`The offer has no a=${name}`)
  if (!pattern.test(value)) throw invalid(`The a=${name} of the offer is not valid`)
  return value
}

const setupOf = (lines: readonly string[]): Offer['setup'] => {
  const [value = 'actpass'] = values(lines, 'setup')
  const setup = SETUPS.find((name) => name === value)
  if (setup === undefined) throw invalid('The a=setup of the offer is not valid')
  return setup
}

const bundleOf = (session: readonly string[]): readonly string[] => {
  const [group] = values(session, 'group').filter((value) => value.startsWith('BUNDLE '))
  return group === undefined ? [] : group.split(' ').slice(1)
}

const mediaOf = (section: readonly string[], index: number): OfferedMedia => {
  const [line = '', ...attributes] = section
  const [match, kind = '', port = '', protocol = '', formats = ''] = MEDIA_LINE.exec(line.slice(2)) ?? []
  if (match === undefined) throw invalid(`The m= line ${index + 1} of the offer is not valid`)
  const [mid = String(index)] = values(attributes, 'mid')
  if (!MID.test(mid)) throw invalid('An a=mid of the offer is not valid')
  const isRefused = port === '0' && !attributes.includes('a=bundle-only')
  const receives = !isRefused && !attributes.includes('a=sendonly') && !attributes.includes('a=inactive')
  return {
    kind,
    protocol,
    formats: formats.split(' ').filter((format) => format !== ''),
    mid,
    receives,
    codecs: codecsOf(attributes, formats.split(' ')),
    extensions: extensionsOf(attributes),
  }
}

/** Static payload types may come without `a=rtpmap` (RFC 3551 section 6). */
const STATIC: ReadonlyMap<string, string> = new Map([
  ['0', '0 PCMU/8000'],
  ['8', '8 PCMA/8000'],
])

const codecsOf = (attributes: readonly string[], formats: readonly string[]): readonly OfferedCodec[] => {
  const stated = values(attributes, 'rtpmap')
  const implied = formats.flatMap((format) => (stated.some((line) => line.startsWith(`${format} `)) ? [] : (STATIC.get(format) ?? [])))
  const fmtps = new Map(values(attributes, 'fmtp').flatMap((line) => pairOf(FMTP, line)))
  const feedbacks = values(attributes, 'rtcp-fb').flatMap((line) => pairOf(RTCP_FB, line))
  return [...stated, ...implied].slice(0, MAX_CODECS).flatMap((line) => {
    const [match, payload = '', name = '', clockRate = '', channels = '1'] = RTPMAP.exec(line) ?? []
    if (match === undefined || Number(payload) > 127 || !formats.includes(payload)) return []
    const fmtp = fmtps.get(payload)
    const feedback = new Set(feedbacks.filter(([of]) => of === payload || of === '*').map(([, value]) => value))
    const codec = { payload: Number(payload), name: name.toUpperCase(), clockRate: Number(clockRate), channels: Number(channels) }
    return [{ ...codec, fmtp, feedback, parameters: parametersOf(fmtp) }]
  })
}

const pairOf = (pattern: RegExp, line: string): readonly (readonly [string, string])[] => {
  const [match, first = '', second = ''] = pattern.exec(line) ?? []
  return match === undefined ? [] : [[first, second]]
}

const parametersOf = (fmtp = ''): ReadonlyMap<string, string> =>
  new Map(
    fmtp.split(';').map((part) => {
      const [name = '', value = ''] = part.split('=', 2)
      return [name.trim().toLowerCase(), value.trim()]
    }),
  )

const extensionsOf = (attributes: readonly string[]): ReadonlyMap<string, number> =>
  new Map(values(attributes, 'extmap').flatMap((line) => pairOf(EXTMAP, line).map(([id, uri]) => [uri, Number(id)] as const)))

const invalid = (message: string) => validationError('SDP', [{ path: '', message }])
