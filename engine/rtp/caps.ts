/** RTP caps as text, as GStreamer writes and reads them. */

export interface RtpCaps {
  readonly media: 'video' | 'audio' | 'application'
  /** As in `a=rtpmap`, upper case: H264, H265, SMPTE336M … */
  readonly encodingName: string
  readonly payload: number
  /** Hz of the RTP timestamp. */
  readonly clockRate: number
  /** Every other field as text: sprop-parameter-sets, a-framerate, timestamp-offset … */
  readonly parameters: ReadonlyMap<string, string>
}

/** Payload type of sound in our outputs, where its codec has no fixed one. */
export const SOUND_PAYLOAD = 98

const MAX_CHARACTERS = 64 * 1024
const MAX_FIELDS = 200
const FIELD_NAME = /[\s,;]*([A-Za-z][A-Za-z0-9_+/:.-]*)\s*=\s*(?:\([^()]{1,32}\)\s*)?/y
const BARE_VALUE = /(?:\\.|[^\\,;"\s])*/y
const QUOTED_VALUE = /"((?:\\.|[^"\\])*)"/y

/** GStreamer escapes with a backslash, followed by the character or by three octal digits of a byte. */
const unescapeValue = (text: string): string =>
  text.replace(/\\([0-7]{3}|.)/g, (_, escaped: string) =>
    escaped.length === 3 ? String.fromCharCode(Number.parseInt(escaped, 8)) : escaped,
  )

const parseFields = (text: string): Map<string, string> | undefined => {
  const fields = new Map<string, string>()
  let position = 0
  while (position < text.length && fields.size < MAX_FIELDS) {
    FIELD_NAME.lastIndex = position
    const name = FIELD_NAME.exec(text)
    if (!name) return /^[\s,;]*$/.test(text.slice(position)) ? fields : undefined
    const pattern = text[FIELD_NAME.lastIndex] === '"' ? QUOTED_VALUE : BARE_VALUE
    pattern.lastIndex = FIELD_NAME.lastIndex
    const value = pattern.exec(text)
    if (!value) return undefined
    fields.set(name[1] ?? '', unescapeValue(value[1] ?? value[0]))
    position = pattern.lastIndex
  }
  return fields
}

const MEDIA = ['video', 'audio', 'application'] as const

/** Static payload types whose caps may come without a clock rate (RFC 3551 section 6). */
const STATIC_CLOCK_RATES: Readonly<Record<number, number>> = {
  0: 8000,
  3: 8000,
  8: 8000,
  9: 8000,
  14: 90000,
  26: 90000,
  32: 90000,
  33: 90000,
}

/**
 * Parses the caps text of an RTP source pad. Undefined when it is not RTP, or still incomplete:
 * rtpmp4vpay announces caps without a clock rate first.
 */
export const parseRtpCaps = (text: string): RtpCaps | undefined => {
  const body = /^\s*application\/x-rtp\s*(?:\([^)]*\)\s*)?(?=,|$)/.exec(text)
  if (!body || text.length > MAX_CHARACTERS) return undefined
  const fields = parseFields(text.slice(body[0].length))
  const media = MEDIA.find((name) => name === fields?.get('media'))
  const encodingName = fields?.get('encoding-name')
  if (!fields || !media || !encodingName || !/^[\w.+-]{1,64}$/.test(encodingName)) return undefined
  // The default of GStreamer's payloaders is the first dynamic payload type.
  const payload = Number(fields.get('payload') ?? 96)
  const clockRate = Number(fields.get('clock-rate') ?? STATIC_CLOCK_RATES[payload])
  if (!Number.isInteger(payload) || payload < 0 || payload > 127) return undefined
  if (!Number.isInteger(clockRate) || clockRate < 1 || clockRate > 1_000_000_000) return undefined
  for (const name of ['media', 'encoding-name', 'payload', 'clock-rate']) fields.delete(name)
  return { media, encodingName: encodingName.toUpperCase(), payload, clockRate, parameters: fields }
}

/** Whether readers of one can continue with the other: same codec and clock. Parameter sets may differ; the stream carries them. */
export const sameFormat = (one: RtpCaps, other: RtpCaps): boolean =>
  one.media === other.media &&
  one.encodingName === other.encodingName &&
  one.clockRate === other.clockRate &&
  (one.media !== 'audio' || OF_SOUND.every((name) => one.parameters.get(name) === other.parameters.get(name)))

/** Parameters of sound that only the description has: channels, and the AudioSpecificConfig of AAC. */
const OF_SOUND = ['encoding-params', 'config']

const WRITTEN_NAME = /^[A-Za-z][A-Za-z0-9-]{0,63}$/
/** Base64, hexadecimal, numbers and names. Other values are left out, since the source is not trusted. */
const WRITTEN_VALUE = /^[A-Za-z0-9+/=,.:; _-]{1,8192}$/

/** The caps for a child that reads such packets. */
export const formatRtpCaps = ({ media, clockRate, encodingName, parameters }: RtpCaps): string => {
  const fields = [...parameters].filter(([name, value]) => WRITTEN_NAME.test(name) && WRITTEN_VALUE.test(value))
  return [
    'application/x-rtp',
    `media=(string)${media}`,
    `clock-rate=(int)${clockRate}`,
    `encoding-name=(string)${encodingName}`,
    ...fields.map(([name, value]) => `${name}=(string)"${value}"`),
  ].join(',')
}
