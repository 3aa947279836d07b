import type { CameraFormat, CameraSize } from '../../lib/schema/camera.ts'

/** Bounds of the data kept of one device. */
const MAX_FORMATS = 64
const MAX_SIZES = 512
const MAX_RATES = 64
const MAX_PIXELS = 65536
const MAX_FPS = 1000

/** A whole number, or any of `min`, `min + step` … `max`. */
interface Span {
  readonly min: number
  readonly max: number
  readonly step: number
}

type Rates = Pick<CameraSize, 'frame_rates' | 'frame_rate_range'>

/** Media type → encoding; other media types are listed by their subtype. */
const ENCODINGS: ReadonlyMap<string, string> = new Map([
  ['image/jpeg', 'mjpeg'],
  ['video/x-h264', 'h264'],
  ['video/x-h265', 'h265'],
])

const RAW = 'video/x-raw'
const MEDIA_TYPE = /^([a-z]+\/[a-zA-Z0-9.+-]{1,64})(?:\(([^)]*)\))?$/
const TYPE_PREFIX = /^\((?:int|uint|string|gchararray|fraction|boolean|bool)\)\s*/

/** Parses caps lines such as `video/x-raw, format=YUY2, width=640, height=480, framerate={ (fraction)30/1, (fraction)15/1 }`. */
export const parseCapsLines = (lines: readonly string[], devicePath: string): readonly CameraFormat[] => {
  const formats = new Map<string, CameraFormat>()
  for (const line of lines) {
    const structure = parseStructure(line)
    if (structure === undefined) continue
    for (const pixelFormat of pixelFormats(structure)) {
      const encoding = encodingOf(structure.mediaType, pixelFormat)
      const format = formats.get(encoding) ?? {
        encoding,
        media_type: structure.mediaType,
        pixel_format: pixelFormat,
        device_path: devicePath,
        sizes: [],
      }
      if (!formats.has(encoding) && formats.size >= MAX_FORMATS) continue
      addSizes(format.sizes, structure.fields)
      if (format.sizes.length > 0) formats.set(encoding, format)
    }
  }
  for (const format of formats.values()) format.sizes.sort((a, b) => b.width * b.height - a.width * a.height || b.width - a.width)
  return [...formats.values()]
}

interface Structure {
  readonly mediaType: string
  readonly fields: ReadonlyMap<string, string>
}

const parseStructure = (line: string): Structure | undefined => {
  const [head = '', ...rest] = splitTopLevel(line)
  const [, mediaType, features] = MEDIA_TYPE.exec(head) ?? []
  // Other kinds of memory (DMABuf) repeat the formats of system memory.
  if (mediaType === undefined || /memory:(?!SystemMemory)/.test(features ?? '')) return undefined
  const fields = new Map<string, string>()
  for (const field of rest) {
    const at = field.indexOf('=')
    if (at > 0) fields.set(field.slice(0, at).trim(), field.slice(at + 1).trim())
  }
  return { mediaType, fields }
}

/** Splits at the commas outside of lists, ranges and quoted strings. */
const splitTopLevel = (text: string): readonly string[] => {
  const parts: string[] = []
  let depth = 0
  let quoted = false
  let from = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (quoted && char === '\\') at += 1
    else if (char === '"') quoted = !quoted
    else if (quoted) continue
    else if (char === '{' || char === '[' || char === '<') depth += 1
    else if (char === '}' || char === ']' || char === '>') depth -= 1
    else if (char === ',' && depth <= 0) {
      parts.push(text.slice(from, at).trim())
      from = at + 1
    }
  }
  parts.push(text.slice(from).trim())
  return parts
}

/** The alternatives of a field: the members of `{ a, b }`, or the one value. */
const alternatives = (text: string): readonly string[] => {
  const value = text.replace(TYPE_PREFIX, '')
  const members = value.startsWith('{') && value.endsWith('}') ? splitTopLevel(value.slice(1, -1)) : [value]
  return members.map((member) => member.replace(TYPE_PREFIX, '').replace(/^"(.*)"$/, '$1')).filter((member) => member !== '')
}

/** The members of `[ a, b ]` or `[ a, b, step ]`, undefined for anything else. */
const rangeOf = (text: string): readonly string[] | undefined =>
  text.startsWith('[') && text.endsWith(']') ? splitTopLevel(text.slice(1, -1)).map((bound) => bound.replace(TYPE_PREFIX, '')) : undefined

const pixelFormats = ({ mediaType, fields }: Structure): readonly (string | null)[] => {
  if (mediaType !== RAW && mediaType !== 'video/x-bayer') return [null]
  const named = alternatives(fields.get('format') ?? '').filter((format) => /^[A-Za-z0-9_-]{1,32}$/.test(format) && format !== 'DMA_DRM')
  return mediaType === RAW ? named.slice(0, MAX_FORMATS) : [null]
}

const encodingOf = (mediaType: string, pixelFormat: string | null): string =>
  pixelFormat?.toLowerCase() ?? ENCODINGS.get(mediaType) ?? mediaType.replace(/^.*\/(x-)?/, '').toLowerCase()

const addSizes = (sizes: CameraSize[], fields: ReadonlyMap<string, string>): void => {
  const widths = spans(fields.get('width') ?? '')
  const heights = spans(fields.get('height') ?? '')
  const rates = parseRates(fields.get('framerate') ?? '')
  for (const width of widths) {
    for (const height of heights) if (sizes.length < MAX_SIZES) addSize(sizes, toSize(width, height, rates))
  }
}

const spans = (text: string): readonly Span[] =>
  alternatives(text)
    .slice(0, MAX_SIZES)
    .map(toSpan)
    .filter((span) => span !== undefined)

const toSpan = (text: string): Span | undefined => {
  const range = rangeOf(text)
  const [min = Number.NaN, max = min, step = 1] = (range ?? [text]).map(Number)
  const whole = [min, max, step].every((value) => Number.isInteger(value))
  if (!whole || min < 0 || max < min || max < 1 || step < 1 || (range === undefined && max > MAX_PIXELS)) return undefined
  // A driver without bounds lists 1 … 2147483647.
  return { min: min === 0 ? step : min, max: Math.min(max, MAX_PIXELS), step }
}

const toSize = (width: Span, height: Span, rates: Rates): CameraSize => ({
  width: width.max,
  height: height.max,
  ...rates,
  size_range:
    width.min === width.max && height.min === height.max
      ? null
      : {
          min_width: width.min,
          max_width: width.max,
          step_width: width.step,
          min_height: height.min,
          max_height: height.max,
          step_height: height.step,
        },
})

/** Structures that differ only in interlacing or colorimetry are one size. */
const addSize = (sizes: CameraSize[], size: CameraSize): void => {
  const same = sizes.find(
    (other) => other.width === size.width && other.height === size.height && (other.size_range === null) === (size.size_range === null),
  )
  if (same === undefined) sizes.push(size)
  else {
    same.frame_rates = descending([...same.frame_rates, ...size.frame_rates])
    same.frame_rate_range ??= size.frame_rate_range
  }
}

const parseRates = (text: string): Rates => {
  const rates = alternatives(text)
    .slice(0, MAX_RATES)
    .map(toRate)
    .filter((rate) => rate !== undefined)
  const ranges = rates.filter((rate) => rate.min !== rate.max)
  return {
    frame_rates: descending(rates.map(({ max }) => max)),
    frame_rate_range:
      ranges.length === 0 ? null : { min: Math.min(...ranges.map(({ min }) => min)), max: Math.max(...ranges.map(({ max }) => max)) },
  }
}

/** One rate, or the bounds of a range; undefined for anything else, such as the 0/1 … 2147483647/1 of a driver without bounds. */
const toRate = (text: string): { readonly min: number; readonly max: number } | undefined => {
  const [min, max = min] = (rangeOf(text) ?? [text]).map(fraction)
  return min === undefined || max === undefined || max < min || max <= 0 || max > MAX_FPS ? undefined : { min, max }
}

const descending = (rates: readonly number[]): number[] => [...new Set(rates)].sort((a, b) => b - a).slice(0, MAX_RATES)

/** `30000/1001` → 29.97; frames per second with three decimals, undefined for anything else. */
const fraction = (text: string): number | undefined => {
  const [, over, under = '1'] = /^(\d{1,10})(?:\/(\d{1,10}))?$/.exec(text.trim()) ?? []
  if (over === undefined || Number(under) === 0) return undefined
  return Math.round((Number(over) / Number(under)) * 1000) / 1000
}
