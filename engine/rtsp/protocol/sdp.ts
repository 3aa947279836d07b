/** Session descriptions (RFC 4566), as RTSP uses them (RFC 2326 appendix C). */

export interface SdpAttribute {
  readonly name: string
  /** Empty for a flag such as `a=recvonly`. */
  readonly value: string
}

export interface SdpMedia {
  /** `video`, `audio`, `application` … */
  readonly type: string
  readonly port: number
  /** `RTP/AVP` … */
  readonly protocol: string
  /** Payload types for RTP, as text. */
  readonly formats: readonly string[]
  readonly attributes: readonly SdpAttribute[]
}

export interface SessionDescription {
  readonly attributes: readonly SdpAttribute[]
  readonly media: readonly SdpMedia[]
}

/** The text is not a session description, or exceeds the limits. */
export class SdpError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SdpError'
  }
}

const MAX_BYTES = 256 * 1024
const MAX_LINES = 2000
const MAX_MEDIA = 32

const MEDIA_LINE = /^(\S{1,32}) +(\d{1,5})(?:\/\d{1,5})? +(\S{1,32}) +(\S.{0,511})$/

const parseAttribute = (text: string): SdpAttribute => {
  const colon = text.indexOf(':')
  return colon === -1 ? { name: text.trim(), value: '' } : { name: text.slice(0, colon).trim(), value: text.slice(colon + 1).trim() }
}

const parseMediaLine = (value: string) => {
  const match = MEDIA_LINE.exec(value)
  if (!match) return undefined
  const [, type = '', port = '', protocol = '', formats = ''] = match
  return { type, port: Number(port), protocol, formats: formats.trim().split(/ +/) }
}

/**
 * Parses a session description from an untrusted peer. Throws SdpError; ignores unknown lines, and media without a valid line: some
 * cameras name no format for sound that is switched off.
 */
export const parseSdp = (text: string): SessionDescription => {
  if (text.length > MAX_BYTES) throw new SdpError('The session description is too large')
  const lines = text.split(/\r\n|\n|\r/, MAX_LINES + 1)
  if (lines.length > MAX_LINES) throw new SdpError('The session description has too many lines')
  const attributes: SdpAttribute[] = []
  const media: SdpMedia[] = []
  let described = attributes
  for (const line of lines) {
    if (!/^[a-zA-Z]=/.test(line)) continue
    const value = line.slice(2).trim()
    if (line[0] === 'm') {
      if (media.length >= MAX_MEDIA) throw new SdpError('The session description has too many media')
      described = []
      const parsed = parseMediaLine(value)
      if (parsed !== undefined) media.push({ ...parsed, attributes: described })
    } else if (line[0] === 'a') described.push(parseAttribute(value))
  }
  if (media.length > 0) return { attributes, media }
  if (described !== attributes) throw new SdpError('The session description has an invalid media line')
  if (!/^v=/m.test(text)) throw new SdpError('The response is not a session description')
  return { attributes, media }
}

/** The first value of an attribute, undefined when there is none. */
export const attribute = (of: { readonly attributes: readonly SdpAttribute[] }, name: string): string | undefined =>
  of.attributes.find((entry) => entry.name.toLowerCase() === name)?.value

/** Encoding names of the payload types that RFC 3551 section 6 fixes, for media without `a=rtpmap`. */
const STATIC_PAYLOADS: Readonly<Record<number, string>> = {
  0: 'PCMU',
  3: 'GSM',
  4: 'G723',
  8: 'PCMA',
  9: 'G722',
  10: 'L16',
  11: 'L16',
  14: 'MPA',
  15: 'G728',
  18: 'G729',
  26: 'JPEG',
  31: 'H261',
  32: 'MPV',
  33: 'MP2T',
  34: 'H263',
}

/** Some servers leave the clock rate out. */
const RTPMAP = /^(\d{1,3})\s+([^\s/]{1,64})(?:\/(\d{1,9})(?:\/(\d{1,2}))?)?/
/** Hz; all static video payload types have it (RFC 3551 section 6), and MPA. */
const VIDEO_CLOCK_RATE = 90_000
/** Of static payload types of sound. */
const SOUND_CLOCK_RATES: Readonly<Record<number, number>> = {
  0: 8000,
  3: 8000,
  4: 8000,
  8: 8000,
  9: 8000,
  10: 44_100,
  11: 44_100,
  15: 8000,
  18: 8000,
}
const STATIC_CHANNELS: Readonly<Record<number, number>> = { 10: 2 }

interface Encoding {
  readonly encodingName: string
  readonly clockRate: number
  /** Of sound, where it is stated. */
  readonly channels: number | undefined
}

/** The encoding of a payload type: its `a=rtpmap`, else the static assignment of RFC 3551. */
export const rtpmap = (media: SdpMedia, payload = Number(media.formats[0])): Encoding | undefined => {
  const usualRate = SOUND_CLOCK_RATES[payload] ?? VIDEO_CLOCK_RATE
  for (const entry of media.attributes) {
    if (entry.name.toLowerCase() !== 'rtpmap') continue
    const match = RTPMAP.exec(entry.value)
    if (match && Number(match[1]) === payload) {
      const channels = match[4] === undefined ? undefined : Number(match[4])
      return { encodingName: match[2] ?? '', clockRate: Number(match[3] ?? usualRate), channels }
    }
  }
  const encodingName = STATIC_PAYLOADS[payload]
  return encodingName === undefined ? undefined : { encodingName, clockRate: usualRate, channels: STATIC_CHANNELS[payload] }
}

/** The `a=fmtp` parameters of a payload type, names in lower case. */
export const fmtp = (media: SdpMedia, payload = Number(media.formats[0])): ReadonlyMap<string, string> => {
  const parameters = new Map<string, string>()
  for (const entry of media.attributes) {
    if (entry.name.toLowerCase() !== 'fmtp' || Number.parseInt(entry.value, 10) !== payload) continue
    for (const pair of entry.value.replace(/^\d+\s*/, '').split(';')) {
      const equals = pair.indexOf('=')
      if (equals === -1) parameters.set(pair.trim().toLowerCase(), '')
      else parameters.set(pair.slice(0, equals).trim().toLowerCase(), pair.slice(equals + 1).trim())
    }
  }
  return parameters
}

interface SdpInput {
  /** Identifies the session description (RFC 4566 section 5.2). */
  readonly sessionId: string
  readonly host: string
  readonly name: string
  readonly attributes: readonly SdpAttribute[]
  readonly media: readonly SdpMedia[]
}

const formatAttribute = ({ name, value }: SdpAttribute): string => (value === '' ? `a=${name}` : `a=${name}:${value}`)

// A line break inside a value would inject another line.
const oneLine = (text: string): string => text.replace(/[\r\n\0]+/g, ' ')

/** Writes a session description of streams whose transport RTSP negotiates (port 0, no address). */
export const formatSdp = (input: SdpInput): string => {
  const [family, any] = input.host.includes(':') ? ['IP6', '::'] : ['IP4', '0.0.0.0']
  const lines = [
    'v=0',
    `o=- ${input.sessionId} 1 IN ${family} ${input.host}`,
    `s=${input.name || '-'}`,
    `c=IN ${family} ${any}`,
    't=0 0',
    ...input.attributes.map(formatAttribute),
    ...input.media.flatMap((media) => [
      `m=${media.type} ${media.port} ${media.protocol} ${media.formats.join(' ')}`,
      ...media.attributes.map(formatAttribute),
    ]),
  ]
  return `${lines.map(oneLine).join('\r\n')}\r\n`
}

/** RFC 6597 section 6.1; the second is a spelling of older MediaMTX versions. */
const KLV_NAMES = ['SMPTE336M', 'SMTPE336M']

export const isKlvName = (encodingName: string | undefined): boolean =>
  encodingName !== undefined && KLV_NAMES.includes(encodingName.toUpperCase())
