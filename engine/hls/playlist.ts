import { type Attributes, parseAttributes } from './attributes.ts'

/** A part of a resource (EXT-X-BYTERANGE). */
export interface ByteRange {
  readonly offset: number
  readonly length: number
}

export interface SegmentKey {
  /** `AES-128`, or one that is not supported. */
  readonly method: string
  readonly uri: string
  /** 16 bytes as hexadecimal digits; left out: the media sequence number. */
  readonly iv: string | undefined
}

interface Resource {
  readonly uri: string
  readonly range: ByteRange | undefined
}

/** The initialization section of fragmented MP4. */
export interface MediaMap extends Resource {
  readonly key: SegmentKey | undefined
}

export interface Segment extends Resource {
  /** Media sequence number. */
  readonly sequence: number
  readonly seconds: number
  /** Its times do not go on from the segment before. */
  readonly discontinuity: boolean
  readonly key: SegmentKey | undefined
  readonly map: MediaMap | undefined
}

export interface Variant {
  readonly uri: string
  /** Bits per second; 0 when it is not stated. */
  readonly bandwidth: number
  /** Empty when they are not stated. */
  readonly codecs: readonly string[]
}

export type Playlist =
  | { readonly kind: 'variants'; readonly variants: readonly Variant[] }
  | { readonly kind: 'media'; readonly segments: readonly Segment[]; readonly targetSeconds: number; readonly ended: boolean }

/** A day in segments of two seconds has three lines for each of them. */
const MAX_LINES = 200_000
const MAX_LINE_LENGTH = 16_384
/** Some milliseconds of work. */
const LINES_IN_A_TURN = 4096
const MAX_VARIANTS = 200
const MAX_SECONDS = 3600
const USUAL_SECONDS = 6

/**
 * Parses a playlist (RFC 8216), in linear time; yields now and then, since it may be long. Undefined when it is none, or larger than any
 * that is meant to be played.
 */
export function* parsePlaylist(text: string): Generator<void, Playlist | undefined> {
  const reading = new Reading()
  let count = 0
  for (let at = 0; at < text.length; count += 1) {
    const newline = text.indexOf('\n', at)
    const end = newline === -1 ? text.length : newline
    if (count === MAX_LINES || end - at > MAX_LINE_LENGTH) return undefined
    const line = text.slice(at, end).trim()
    if (count === 0 && !line.startsWith('#EXTM3U')) return undefined
    if (line !== '') reading.line(line)
    at = end + 1
    if (count % LINES_IN_A_TURN === LINES_IN_A_TURN - 1) yield
  }
  return count === 0 ? undefined : reading.playlist
}

/** What the lines so far say about the next segment or variant. */
class Reading {
  readonly #segments: Segment[] = []
  readonly #variants: Variant[] = []
  #sequence = 0
  #targetSeconds = USUAL_SECONDS
  #ended = false
  #seconds: number | undefined
  #stream: Attributes | undefined
  #discontinuity = false
  #gap = false
  #key: SegmentKey | undefined
  #map: MediaMap | undefined
  #range: { readonly length: number; readonly offset: number | undefined } | undefined
  #rangeEnd = { uri: '', offset: 0 }

  get playlist(): Playlist {
    if (this.#variants.length > 0) return { kind: 'variants', variants: this.#variants }
    return { kind: 'media', segments: this.#segments, targetSeconds: this.#targetSeconds, ended: this.#ended }
  }

  line(line: string): void {
    if (!line.startsWith('#')) {
      this.#uri(line)
      return
    }
    const colon = line.indexOf(':')
    const tag = colon === -1 ? line : line.slice(0, colon)
    if (Object.hasOwn(this.#tags, tag)) this.#tags[tag]?.(colon === -1 ? '' : line.slice(colon + 1))
  }

  readonly #tags: Readonly<Record<string, (value: string) => void>> = {
    '#EXT-X-TARGETDURATION': (value) => {
      this.#targetSeconds = secondsOf(value) ?? USUAL_SECONDS
    },
    '#EXT-X-MEDIA-SEQUENCE': (value) => {
      this.#sequence = wholeNumber(value) ?? 0
    },
    '#EXTINF': (value) => {
      this.#seconds = secondsOf(value.split(',', 1)[0] ?? '') ?? 0
    },
    '#EXT-X-BYTERANGE': (value) => {
      this.#range = rangeOf(value)
    },
    '#EXT-X-DISCONTINUITY': () => {
      this.#discontinuity = true
    },
    '#EXT-X-GAP': () => {
      this.#gap = true
    },
    '#EXT-X-ENDLIST': () => {
      this.#ended = true
    },
    '#EXT-X-KEY': (value) => {
      this.#key = keyOf(parseAttributes(value))
    },
    '#EXT-X-MAP': (value) => {
      const attributes = parseAttributes(value)
      const range = rangeOf(attributes.get('BYTERANGE') ?? '')
      const uri = attributes.get('URI')
      this.#map = uri === undefined ? undefined : { uri, range: range && { ...range, offset: range.offset ?? 0 }, key: this.#key }
    },
    '#EXT-X-STREAM-INF': (value) => {
      this.#stream = parseAttributes(value)
    },
  }

  #uri(uri: string): void {
    if (this.#stream !== undefined) this.#addVariant(uri, this.#stream)
    else if (this.#seconds !== undefined) this.#addSegment(uri, this.#seconds)
  }

  #addVariant(uri: string, attributes: Attributes): void {
    this.#stream = undefined
    if (this.#variants.length >= MAX_VARIANTS) return
    const codecs = (attributes.get('CODECS') ?? '').split(',').map((codec) => codec.trim())
    this.#variants.push({
      uri,
      bandwidth: wholeNumber(attributes.get('BANDWIDTH') ?? '') ?? 0,
      codecs: codecs.filter((codec) => codec !== ''),
    })
  }

  #addSegment(uri: string, seconds: number): void {
    const offset = this.#range?.offset ?? (this.#rangeEnd.uri === uri ? this.#rangeEnd.offset : 0)
    const range = this.#range && { offset, length: this.#range.length }
    const segment = { uri, range, sequence: this.#sequence, seconds, discontinuity: this.#discontinuity, key: this.#key, map: this.#map }
    if (!this.#gap) this.#segments.push(segment)
    this.#rangeEnd = { uri, offset: offset + (range?.length ?? 0) }
    this.#sequence += 1
    this.#seconds = undefined
    this.#range = undefined
    // The segment after a gap does not go on from the one before.
    this.#discontinuity = this.#gap && this.#discontinuity
    this.#gap = false
  }
}

const wholeNumber = (text: string): number | undefined => {
  const value = Number(text.trim() || Number.NaN)
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

const secondsOf = (text: string): number | undefined => {
  const value = Number(text.trim() || Number.NaN)
  return value > 0 ? Math.min(value, MAX_SECONDS) : undefined
}

/** `<length>[@<offset>]`. */
const rangeOf = (text: string): { readonly length: number; readonly offset: number | undefined } | undefined => {
  const [first = '', second] = text.split('@', 2)
  const length = wholeNumber(first)
  return length === undefined || length === 0 ? undefined : { length, offset: second === undefined ? undefined : wholeNumber(second) }
}

const keyOf = (attributes: Attributes): SegmentKey | undefined => {
  const method = attributes.get('METHOD') ?? 'NONE'
  const iv = attributes.get('IV')?.slice(2)
  return method === 'NONE' ? undefined : { method, uri: attributes.get('URI') ?? '', iv }
}
