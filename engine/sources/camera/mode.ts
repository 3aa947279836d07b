import { type CameraCapabilities, type CameraFormat, type CameraKind, type CameraSize, isDevicePath } from '../../../lib/schema/camera.ts'
import { type ValidationIssue, validationError } from '../../../lib/validate.ts'

/** What `v4l2:///dev/video0?encoding=mjpeg&width=1280&height=720&fps=30` asks for. */
export interface CameraSource {
  readonly device_path: string
  readonly encoding?: string
  readonly width?: number
  readonly height?: number
  /** frames per second */
  readonly fps?: number
}

/** What v4l2src is told to deliver. */
export interface CameraMode {
  readonly device_path: string
  readonly kind: CameraKind
  readonly media_type: string
  readonly pixel_format: string | null
  readonly width: number
  readonly height: number
  /** frames per second, null when the driver tells none and none was asked for */
  readonly fps: number | null
  /** Whether `fps` names a rate of the driver's list, which is rounded here to three decimals. */
  readonly listed_fps: boolean
}

/** Other programs' names for the same formats: V4L2's fourcc in lower case, and common ones. */
const ALIASES: Readonly<Record<string, string>> = {
  jpeg: 'mjpeg',
  mjpg: 'mjpeg',
  avc: 'h264',
  hevc: 'h265',
  yuyv: 'yuy2',
  yu12: 'i420',
  grey: 'gray8',
  y16: 'gray16_le',
}

const NUMBERS = {
  width: { pattern: /^\d{1,5}$/, message: 'width: use a whole number of pixels' },
  height: { pattern: /^\d{1,5}$/, message: 'height: use a whole number of pixels' },
  fps: { pattern: /^\d{1,3}(?:\.\d{1,3})?$/, message: 'fps: use frames per second such as 30 or 29.97' },
} as const

const PARAMETERS: readonly string[] = ['encoding', ...Object.keys(NUMBERS)]

const refuse = (messages: readonly string[], more: Record<string, unknown> = {}): never => {
  throw validationError(
    'camera source',
    messages.map((message): ValidationIssue => ({ path: 'source.uri', message })),
    more,
  )
}

/** Reads a `v4l2://` address. VALIDATION_ERROR for a path that is no video device, and for parameters that are unknown, repeated or no numbers. */
export const parseCameraUri = (uri: string): CameraSource => {
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  const path = url === undefined ? '' : decode(url.pathname)
  if (url?.protocol !== 'v4l2:' || url.host !== '' || url.hash !== '' || !isDevicePath(path)) {
    return refuse(['Use the address of a video device such as v4l2:///dev/video0'])
  }
  const query = url.searchParams
  const problems = [...new Set(query.keys())].flatMap((name) => problemOf(name, query.getAll(name)))
  if (problems.length > 0) return refuse(problems)
  const encoding = query.get('encoding')?.toLowerCase()
  const number = (name: keyof typeof NUMBERS) => (query.has(name) ? { [name]: Number(query.get(name)) } : {})
  return {
    device_path: path,
    ...(encoding !== undefined && { encoding: ALIASES[encoding] ?? encoding }),
    ...number('width'),
    ...number('height'),
    ...number('fps'),
  }
}

const decode = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}

const problemOf = (name: string, values: readonly string[]): readonly string[] => {
  const [value = ''] = values
  if (!PARAMETERS.includes(name)) return [`Only ${PARAMETERS.join(', ')} may stand behind the ?`]
  if (values.length > 1) return [`${name}: give it once`]
  if (name === 'encoding') return /^[A-Za-z0-9_-]{1,32}$/.test(value) ? [] : ['encoding: use mjpeg, h264, h265, raw or a pixel format']
  const { pattern, message } = NUMBERS[name as keyof typeof NUMBERS]
  return pattern.test(value) && Number(value) > 0 ? [] : [message]
}

/**
 * The mode of the camera that an address asks for; what it leaves open is chosen (the largest picture up to 1920x1080 with at
 * least 15 and at most 30 frames per second). VALIDATION_ERROR that names what the camera offers, or says that `encoding` is
 * needed when the video is to be passed through (`reencode: false`) and the camera sends no H.264 or H.265.
 */
export const validateCameraSource = (uri: string, camera: CameraCapabilities, options: { readonly reencode: boolean }): CameraMode => {
  const source = parseCameraUri(uri)
  const usable = camera.formats.filter((format) => kindOf(format) !== undefined)
  const wanted = ofNode(source, usable).filter((format) => matchesEncoding(format, source.encoding))
  const modes = wanted.flatMap((format) => format.sizes.flatMap((size) => toMode(format, size, source) ?? []))
  const passable = options.reencode ? modes : modes.filter(({ kind }) => kind === 'h264' || kind === 'h265')
  const best = passable.reduce<CameraMode | undefined>(
    (a, b) => (a !== undefined && compare(a, b, options.reencode) >= 0 ? a : b),
    undefined,
  )
  if (best !== undefined) return best

  const offers = describeOffers(camera.formats)
  if (modes.length > 0) {
    const sends = [...new Set(modes.map(({ kind }) => kind))].join(' and ')
    throw validationError(
      'pipeline',
      [
        {
          path: 'encoding',
          message: `The camera sends ${sends} video, which cannot be passed through: set encoding, for example {"codec":"h264"}`,
        },
      ],
      { offers },
    )
  }
  return refuse([`The camera does not offer ${describeWish(source)}. It offers ${offers.join('; ') || 'no format that can be used'}`], {
    offers,
  })
}

/** The formats of the node that was named; those of the camera's other nodes only for an encoding this one lacks. */
const ofNode = (source: CameraSource, formats: readonly CameraFormat[]): readonly CameraFormat[] => {
  const own = formats.filter(({ device_path }) => device_path === source.device_path)
  const suffices = own.some((format) => matchesEncoding(format, source.encoding)) && source.encoding !== undefined
  return suffices ? own : formats
}

const kindOf = ({ encoding, pixel_format }: CameraFormat): CameraKind | undefined => {
  if (pixel_format !== null) return 'raw'
  return encoding === 'h264' || encoding === 'h265' || encoding === 'mjpeg' ? encoding : undefined
}

const matchesEncoding = (format: CameraFormat, wanted: string | undefined): boolean =>
  wanted === undefined || format.encoding === wanted || (wanted === 'raw' && format.pixel_format !== null)

const PREFERRED = { width: 1920, height: 1080, fps: 30 } as const
/** A rate that rounds to what was asked for: 29.97 is found as 30. */
const FPS_TOLERANCE = 0.05

const toMode = (format: CameraFormat, size: CameraSize, source: CameraSource): CameraMode | undefined => {
  const kind = kindOf(format)
  const range = size.size_range
  const width = pick(source.width, PREFERRED.width, range?.min_width ?? size.width, size.width, range?.step_width ?? 1)
  const height = pick(source.height, PREFERRED.height, range?.min_height ?? size.height, size.height, range?.step_height ?? 1)
  const fps = pickRate(size, source.fps)
  if (kind === undefined || width === undefined || height === undefined || fps === undefined) return undefined
  const { media_type, pixel_format, device_path } = format
  return {
    device_path,
    kind,
    media_type,
    pixel_format,
    width,
    height,
    fps,
    listed_fps: size.frame_rate_range === null && size.frame_rates.length > 0,
  }
}

/** The asked-for value when it is one of min, min + step … max; without one the value nearest to the preferred. */
const pick = (wanted: number | undefined, preferred: number, min: number, max: number, step: number): number | undefined => {
  if (wanted !== undefined) return wanted >= min && wanted <= max && (wanted - min) % step === 0 ? wanted : undefined
  const near = Math.min(Math.max(preferred, min), max)
  return min === max ? max : near - ((near - min) % step)
}

const pickRate = ({ frame_rates, frame_rate_range: range }: CameraSize, wanted: number | undefined): number | null | undefined => {
  if (range !== null) {
    const rate = wanted ?? Math.min(Math.max(PREFERRED.fps, range.min), range.max)
    return rate >= range.min && rate <= range.max ? rate : undefined
  }
  if (frame_rates.length === 0) return wanted ?? null
  const target = wanted ?? PREFERRED.fps
  const nearest = frame_rates.reduce((a, b) => (Math.abs(b - target) < Math.abs(a - target) ? b : a))
  return wanted === undefined || Math.abs(nearest - wanted) <= FPS_TOLERANCE ? nearest : undefined
}

const PASSED_THROUGH: readonly CameraKind[] = ['h265', 'h264']
/** To be decoded anyway: what costs least comes last. */
const DECODED: readonly CameraKind[] = ['h265', 'h264', 'mjpeg', 'raw']

const merits = (mode: CameraMode, reencode: boolean): readonly number[] => {
  const area = mode.width * mode.height
  const fps = mode.fps ?? PREFERRED.fps
  return [
    reencode ? 0 : PASSED_THROUGH.indexOf(mode.kind),
    fps >= 15 ? 1 : 0,
    area <= PREFERRED.width * PREFERRED.height ? area : -area,
    -Math.abs(fps - PREFERRED.fps),
    DECODED.indexOf(mode.kind),
  ]
}

/** Positive when `a` is better than `b`: the first merit that differs decides. */
const compare = (a: CameraMode, b: CameraMode, reencode: boolean): number => {
  const others = merits(b, reencode)
  return (
    merits(a, reencode)
      .map((merit, index) => merit - (others[index] ?? 0))
      .find((difference) => difference !== 0) ?? 0
  )
}

const MAX_OFFERS = 24

const describeOffers = (formats: readonly CameraFormat[]): readonly string[] =>
  formats
    .flatMap((format) => format.sizes.map((size) => `${format.encoding} ${describeSize(size)}${describeRates(size)}`))
    .slice(0, MAX_OFFERS)

const describeSize = ({ width, height, size_range: range }: CameraSize): string => {
  if (range === null) return `${width}x${height}`
  const step = range.step_width > 1 || range.step_height > 1 ? ` in steps of ${range.step_width}x${range.step_height}` : ''
  return `${range.min_width}x${range.min_height} to ${range.max_width}x${range.max_height}${step}`
}

const describeRates = ({ frame_rates, frame_rate_range: range }: CameraSize): string => {
  if (range !== null) return ` at ${range.min} to ${range.max} fps`
  return frame_rates.length === 0 ? '' : ` at ${frame_rates.slice(0, 8).join(', ')} fps`
}

const describeWish = ({ encoding, width, height, fps }: CameraSource): string => {
  const size = width === undefined && height === undefined ? '' : `${width ?? 'any width'} x ${height ?? 'any height'}`
  return [encoding, size, fps === undefined ? '' : `${fps} fps`].filter(Boolean).join(' ') || 'a format that can be used'
}
